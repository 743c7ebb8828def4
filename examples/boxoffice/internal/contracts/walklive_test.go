package contracts_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const streamPath = "/api/notifications/stream"

// live is an open stream of the walk.
type live struct {
	t      *testing.T
	cancel context.CancelFunc
	header http.Header
	events chan [2]string // name and data; closed at the stream's end
}

// open opens a stream and judges its head; each of its events is judged on arrival.
func (w *walker) open(t *testing.T, c call) *live {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	c.method = http.MethodGet
	req, err := c.request(ctx, w.base, nil)
	require.NoError(t, err)
	o, input, err := w.file.find(req)
	require.NoError(t, err)
	assert.NoErrorf(t, valid(ctx, input, nil), "%s: the file judges the request", c.path)
	endless := *w.http
	endless.Timeout = 0
	res, err := endless.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { cancel(); res.Body.Close() })
	r := reply{res.StatusCode, res.Header, nil}
	if err := answered(ctx, o, input, r); err != nil || r.status != http.StatusOK {
		t.Fatalf("%s: %d, %v", c.path, r.status, err)
	}
	w.saw(o.op.OperationID, r.status, "")
	l := &live{t: t, cancel: cancel, header: res.Header, events: make(chan [2]string, 64)}
	go func() {
		defer close(l.events)
		var name, data string
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			field, value, _ := strings.Cut(lines.Text(), ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case field == "event":
				name = value
			case field == "data":
				data += value
			case field == "" && name != "":
				l.events <- [2]string{name, data}
				name, data = "", ""
			}
		}
	}()
	return l
}

// next is the data of the next event of a name; all events before it are judged.
func (l *live) next(w *walker, name string) string {
	l.t.Helper()
	schemas, err := w.file.streamEvents()
	if err != nil {
		l.t.Fatal(err)
	}
	patience := time.NewTimer(time.Minute)
	defer patience.Stop()
	for {
		select {
		case e, ok := <-l.events:
			if !ok {
				l.t.Fatalf("the stream ended without a %s", name)
			}
			if err := judgeEvent(schemas, e[0], e[1]); err != nil {
				l.t.Error(err)
			}
			if e[0] == name {
				return e[1]
			}
		case <-patience.C:
			l.t.Fatalf("no %s came within a minute", name)
		}
	}
}

// streamEvents are the events that the file names, by x-events.
func (f *routeFile) streamEvents() (map[string]*openapi3.SchemaRef, error) {
	named, ok := f.operations["GET "+streamPath].op.Extensions["x-events"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("GET %s has no x-events", streamPath)
	}
	all := map[string]*openapi3.SchemaRef{}
	for name, v := range named {
		all[name] = f.refer(v)
	}
	return all, nil
}

// refer finds the target of an extension's reference; nil for other values.
func (f *routeFile) refer(v any) *openapi3.SchemaRef {
	to, _ := v.(map[string]any)
	path, _ := to["$ref"].(string)
	return f.doc.Components.Schemas[strings.TrimPrefix(path, "#/components/schemas/")]
}

func judgeEvent(schemas map[string]*openapi3.SchemaRef, name, data string) error {
	schema, ok := schemas[name]
	switch {
	case !ok:
		return fmt.Errorf("the stream sent the event %q, which x-events does not name", name)
	case schema == nil && data != "":
		return fmt.Errorf("the event %s has data: %s", name, data)
	case schema == nil:
		return nil
	}
	if err := judgeJSON(schema, []byte(data)); err != nil {
		return fmt.Errorf("the event %s %s: %w", name, data, err)
	}
	return nil
}

func judgeJSON(schema *openapi3.SchemaRef, text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	return schema.Value.VisitJSON(v, openapi3.EnableJSONSchema2020(), openapi3.VisitAsResponse())
}

// walkStreams opens streams by a sign-in and by a ticket, sees events and its end.
func walkStreams(t *testing.T, w *walker) {
	ann, bob := w.fan(t, "live-ann"), w.fan(t, "live-bob")
	ann.do(call{method: "POST", path: "/api/rooms/show-2/join", status: 204})
	bob.do(call{method: "POST", path: "/api/rooms/show-2/join", status: 204})

	var ticket struct{ Ticket string }
	ann.do(call{method: "POST", path: "/api/notifications/ticket", status: 200, into: &ticket})
	browser := w.open(t, call{path: streamPath + "?ticket=" + ticket.Ticket})
	cookie, _, _ := strings.Cut(browser.header.Get("Set-Cookie"), ";")
	bob.do(call{method: "POST", path: "/api/members/live-ann/follow", status: 204})
	browser.next(w, "notification")
	bob.do(call{method: "POST", path: "/api/rooms/show-2/messages", body: map[string]string{"text": "hello"}, status: 202})
	browser.next(w, "chat")
	browser.cancel()
	// A spent ticket is good with the cookie alone.
	w.do(t, call{method: "GET", path: streamPath + "?ticket=" + ticket.Ticket, status: 401, problem: "ticket-refused"})
	w.do(t, call{method: "GET", path: streamPath + "?ticket=x", status: 401, problem: "ticket-refused"})
	again := w.open(t, call{path: streamPath + "?ticket=" + ticket.Ticket, header: map[string]string{"Cookie": cookie}})
	again.cancel()

	first := w.open(t, call{path: streamPath + "?tab=first", token: bob.token})
	for _, tab := range []string{"second", "third", "fourth"} {
		w.open(t, call{path: streamPath + "?tab=" + tab, token: bob.token})
	}
	first.next(w, "evicted")
	bob.do(call{method: "GET", path: streamPath + "?tab=first", status: 204})
	bob.do(call{method: "GET", path: streamPath + "?tab=fifth&place=free", status: 204})
	bob.do(call{method: "GET", path: streamPath + "?tab=fifth&place=mine", status: 400, problem: "invalid-request", broken: true})
	bob.do(call{method: "GET", path: streamPath + "?tab=a%2Fb", status: 400, problem: "invalid-request", broken: true})
}

// handshake are the headers of a WebSocket's request.
func handshake(more ...string) map[string]string {
	all := map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

// walkSocket talks over a WebSocket.
func walkSocket(t *testing.T, w *walker) {
	const path = "/api/rooms/show-1/ws"
	ann := w.fan(t, "socket-ann")
	ann.do(call{method: "GET", path: path, status: 426, problem: "upgrade-required"})
	ann.do(call{method: "GET", path: path + "?after=x", header: handshake(), status: 400, problem: "invalid-request", broken: true})
	ann.do(call{method: "GET", path: path, header: handshake("Origin", "https://evil.test"), status: 403, problem: "origin-refused"})
	w.do(t, call{method: "GET", path: path, header: handshake(), status: 401, problem: "sign-in-required", broken: true})
	w.do(t, call{method: "GET", path: path + "?ticket=x", header: handshake(), status: 401, problem: "ticket-refused"})

	conn, res, err := websocket.Dial(t.Context(), w.base+path+"?after=0", &websocket.DialOptions{ //nolint:bodyclose // it is the socket
		HTTPClient: w.http, HTTPHeader: http.Header{"Authorization": {"Bearer " + ann.token}},
	})
	require.NoError(t, err)
	defer conn.CloseNow() //nolint:errcheck // closed already when all went well
	w.saw("openRoom", res.StatusCode, "")
	frames, err := w.file.socketFrames()
	require.NoError(t, err)
	seen := map[string]bool{}
	until := func(kind string) {
		t.Helper()
		for !seen[kind] {
			_, text, err := conn.Read(t.Context())
			require.NoErrorf(t, err, "before a frame %s", kind)
			name, err := judgeFrame(frames, text)
			assert.NoErrorf(t, err, "the frame %s", text)
			seen[name] = true
		}
	}
	say := func(text string) {
		t.Helper()
		require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(text)))
	}
	until("ready")
	say(`{"text":"before joining"}`)
	until("refused")
	ann.do(call{method: "POST", path: "/api/rooms/show-1/join", status: 204})
	say(`{"text":"hello"}`)
	until("accepted")
	until("message")
	assert.NoError(t, conn.Close(websocket.StatusNormalClosure, ""))
}

// socketFrames are the frames that the server sends, by x-websocket.
func (f *routeFile) socketFrames() (map[string]*openapi3.SchemaRef, error) {
	about, _ := f.operations["GET /api/rooms/{id}/ws"].op.Extensions["x-websocket"].(map[string]any)
	server, _ := about["server"].([]any)
	all := map[string]*openapi3.SchemaRef{}
	for _, v := range server {
		schema := f.refer(v)
		if schema == nil {
			return nil, fmt.Errorf("x-websocket names %v, which is not there", v)
		}
		name, _ := schema.Value.Properties["type"].Value.Const.(string)
		all[name] = schema
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("GET /api/rooms/{id}/ws has no x-websocket with frames of the server")
	}
	return all, nil
}

func judgeFrame(frames map[string]*openapi3.SchemaRef, text []byte) (string, error) {
	var frame struct{ Type string }
	if err := json.Unmarshal(text, &frame); err != nil {
		return "", err
	}
	schema, ok := frames[frame.Type]
	if !ok {
		return "", fmt.Errorf("x-websocket has no frame of the type %q", frame.Type)
	}
	return frame.Type, judgeJSON(schema, text)
}

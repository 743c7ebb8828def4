package api_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/api"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/live"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/memsse"
)

// chatting is an office with rooms, and live streams for its tickets.
func chatting(t *testing.T) (*office, *chat.Chat) {
	t.Helper()
	box := boxtest.New(t)
	_, broker := memsse.New()
	rooms, err := chat.New(box.Store, box.Catalog, box.Outbox, broker, chat.Config{NoRoom: catalog.ErrNoShow})
	require.NoError(t, err)
	shared, err := live.Memory()
	require.NoError(t, err)
	streams, err := live.New(secret, shared, live.Config{Streams: sse.Config{}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- rooms.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	o := newOffice(t, func(cfg *api.Config) {
		cfg.Store, cfg.Catalog, cfg.Chat, cfg.Live = box.Store, box.Catalog, rooms, streams
	})
	o.box = box
	return o, rooms
}

// keep stores the messages that were sent.
func (o *office) keep(rooms *chat.Chat) {
	o.t.Helper()
	persist := rooms.Consumers()[0]
	for _, e := range o.box.Outbox.Take() {
		err := o.box.Store.Write(o.t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := persist.Handlers[e.Type](ctx, tx, e)
			return err
		})
		if err != nil {
			o.t.Fatal(err)
		}
	}
}

func TestChat(t *testing.T) {
	o, rooms := chatting(t)
	ann := o.signIn("ann")
	const messages = "/api/rooms/show-1/messages"
	want := func(c call, status int, name string) reply {
		t.Helper()
		c.token = ann
		r := o.do(c)
		if typ, _ := r.body["type"].(string); r.status != status || name != "" && typ != "/problems/"+name {
			t.Fatalf("%s %s %v: %d %s, want %d %s", c.method, c.path, c.body, r.status, r.text, status, name)
		}
		return r
	}
	say := map[string]string{"text": "hello"}
	want(call{method: "POST", path: messages, body: say}, 403, "not-joined")
	if r := want(call{method: "GET", path: messages}, 200, ""); r.body["joined"] != false || len(r.body["messages"].([]any)) != 0 {
		t.Errorf("before joining: %s", r.text)
	}
	want(call{method: "POST", path: "/api/rooms/show-1/join"}, 204, "")
	for i := range 3 {
		if r := want(call{method: "POST", path: messages, body: map[string]string{"text": fmt.Sprint(i)}}, 202, ""); r.body["id"] == "" {
			t.Error(r.text)
		}
	}
	o.keep(rooms)
	for query, first := range map[string]string{"": "0", "?after=1": "1", "?before=3&limit=1": "1", "?limit=2": "1"} {
		r := want(call{method: "GET", path: messages + query}, 200, "")
		list := r.body["messages"].([]any)
		m := list[0].(map[string]any)
		if r.body["joined"] != true || m["message"] != first || m["senderId"] != "ann" || m["seq"] == nil || m["id"] == nil || m["sentAt"] == nil || len(m) != 5 {
			t.Errorf("%s: %s", query, r.text)
		}
	}
	for query, field := range map[string]string{"?limit=101": "limit", "?limit=0": "limit", "?after=x": "after", "?before=0": "before", "?after=1&before=2": "before"} {
		if r := want(call{method: "GET", path: messages + query}, 400, "invalid-request"); r.body["field"] != field {
			t.Errorf("%s: %s", query, r.text)
		}
	}
	for _, body := range []any{map[string]any{}, map[string]any{"text": ""}, map[string]any{"text": strings.Repeat("x", 1001)}, map[string]any{"text": "\x00"}, map[string]any{"text": 5}} {
		if r := want(call{method: "POST", path: messages, body: body}, 400, "invalid-request"); r.body["field"] != "text" {
			t.Errorf("%v: %s", body, r.text)
		}
	}
	for method, path := range map[string]string{"GET": "messages", "POST": "join", "DELETE": "join"} {
		want(call{method: method, path: "/api/rooms/show-99/" + path}, 404, "room-not-found")
	}
	want(call{method: "POST", path: "/api/rooms/show-99/messages", body: say}, 404, "room-not-found")
	want(call{method: "GET", path: "/api/rooms/show-99/ws"}, 404, "room-not-found")
	want(call{method: "GET", path: "/api/rooms/show-1/ws"}, 426, "upgrade-required")
	want(call{method: "DELETE", path: "/api/rooms/show-1/join"}, 204, "")
	want(call{method: "POST", path: messages, body: say}, 403, "not-joined")
	assert.Equal(t, 401, o.do(call{method: "GET", path: messages}).status, "without a sign-in")
}

func TestRoomSocket(t *testing.T) {
	o, rooms := chatting(t)
	server := httptest.NewServer(o.api)
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{}}
	ann := o.signIn("ann")
	dial := func(query string, header http.Header, want int) *websocket.Conn {
		t.Helper()
		conn, res, err := websocket.Dial(t.Context(), server.URL+"/api/rooms/show-1/ws"+query, &websocket.DialOptions{HTTPClient: client, HTTPHeader: header}) //nolint:bodyclose // Dial has read what there is of it
		if res == nil || res.StatusCode != want || (err == nil) != (want == 101) {
			t.Fatalf("%s: %v, %v, want %d", query, res, err, want)
		}
		if conn != nil {
			t.Cleanup(func() { _ = conn.CloseNow() })
		}
		return conn
	}
	signed := http.Header{"Authorization": {"Bearer " + ann}}
	once := o.ticketOf("ann")
	dial("", nil, 401)
	dial("?after=-1", signed, 400)
	dial("", http.Header{"Authorization": {"Bearer " + ann}, "Origin": {"https://evil.example"}}, 403)
	dial("?ticket=nonsense", nil, 401)
	dial("?ticket="+once, nil, 101)
	dial("?ticket="+once, nil, 401)
	conn := dial("?after=0", signed, 101)
	hear := func(typ string) (f map[string]any) {
		t.Helper()
		_, body, err := conn.Read(t.Context())
		require.NoError(t, err)
		if err := json.Unmarshal(body, &f); err != nil || f["type"] != typ {
			t.Fatalf("%s, want %s", body, typ)
		}
		return f
	}
	post := func(text string) {
		t.Helper()
		require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(text)))
	}
	hear("ready")
	for text, name := range map[string]string{
		`{"text":"x"}`: "not-joined", `{"text":""}`: "invalid-request", `{`: "invalid-request", `{"texts":"x"}`: "invalid-request", `{}`: "invalid-request",
	} {
		post(text)
		if p, _ := hear("refused")["problem"].(map[string]any); p["type"] != "/problems/"+name || p["detail"] == "" || p["status"] == nil {
			t.Errorf("%s: %v", text, p)
		}
	}
	require.NoError(t, rooms.Join(t.Context(), "ann", "show-1"))
	post(`{"text":"hello"}`)
	id := hear("accepted")["id"]
	o.keep(rooms)
	if m := hear("message"); m["id"] != id || m["seq"] != 1.0 || m["senderId"] != "ann" || m["message"] != "hello" || m["sentAt"] == nil {
		t.Errorf("%v", m)
	}
	client.CloseIdleConnections()
}

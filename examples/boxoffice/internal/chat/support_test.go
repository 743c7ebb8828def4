package chat_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/memsse"
)

func TestMain(m *testing.M) {
	// The Kafka client has one for the whole process, for good.
	boxtest.Main(m, goleak.IgnoreAnyFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

var errNoShow = errors.New("no such show")

// halls are shows named room-….
type halls struct{}

func (halls) Exists(_ context.Context, id string) error {
	if !strings.HasPrefix(id, "room-") {
		return errNoShow
	}
	return nil
}

// streams record the events sent to the live streams, by room.
type streams struct {
	mu     sync.Mutex
	ids    map[string][]string
	events []sse.Event
	moves  []string
}

func (s *streams) ToRoom(_ context.Context, room string, e sse.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids == nil {
		s.ids = map[string][]string{}
	}
	s.ids[room] = append(s.ids[room], e.ID)
	s.events = append(s.events, e)
	return nil
}

func (s *streams) Join(_ context.Context, member, room string) error {
	return s.moved(member + " joins " + room)
}

func (s *streams) Leave(_ context.Context, member, room string) error {
	return s.moved(member + " leaves " + room)
}

func (s *streams) moved(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moves = append(s.moves, what)
	return nil
}

func (s *streams) of(room string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ids[room])
}

// house is a chat on a database, with a server for its sockets.
type house struct {
	*testing.T
	box     *boxtest.Box
	chat    *chat.Chat
	streams *streams
	url     string
	client  *http.Client
	stop    func()
}

func newHouse(t *testing.T) *house { return openHouse(t, boxtest.New(t), nil, chat.Config{}) }

// openHouse is a process of its own on the box's database. The broker is one of the
// process alone when nil.
func openHouse(t *testing.T, box *boxtest.Box, broker driver.Broker, cfg chat.Config) *house {
	t.Helper()
	return openOn(t, box, box.Outbox, broker, cfg, nil)
}

// openOn is openHouse with an outbox, and a network in memory when pipes is given.
func openOn(t *testing.T, box *boxtest.Box, outbox store.Appender, broker driver.Broker, cfg chat.Config, pipes *boxtest.Pipes) *house {
	t.Helper()
	var err error
	if broker == nil {
		_, broker = memsse.New()
	}
	cfg.NoRoom = errNoShow
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	h := &house{T: t, box: box, streams: &streams{}, client: &http.Client{Transport: &http.Transport{}}}
	if h.chat, err = chat.New(box.Store, halls{}, outbox, broker, cfg); err != nil {
		t.Fatal(err)
	}
	h.chat.SetSender(h.streams)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.chat.Run(ctx) }()
	boxtest.WaitFor(t, "the chat to take sockets", h.chat.Open)
	server := httptest.NewUnstartedServer(http.HandlerFunc(h.serve))
	h.url = "http://" + server.Listener.Addr().String()
	if pipes != nil {
		require.NoError(t, server.Listener.Close())
		server.Listener = pipes
		h.client.Transport = &http.Transport{DialContext: pipes.Dial}
	}
	server.Start()
	h.stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(t, <-ended, "Run")
		h.client.CloseIdleConnections()
		server.Close()
	})
	t.Cleanup(h.stop)
	return h
}

// serve opens a socket for ?member= in ?room=; its posts are sent.
func (h *house) serve(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	after, err := strconv.ParseInt(q.Get("after"), 10, 64)
	if err != nil {
		after = -1
	}
	err = h.chat.Serve(w, r, chat.Visit{
		Room: q.Get("room"), Member: q.Get("member"), Address: q.Get("address"), After: after,
		Post: func(ctx context.Context, frame []byte) []byte {
			id, err := h.chat.Send(ctx, q.Get("member"), q.Get("room"), string(frame))
			if err != nil {
				return []byte(`{"type":"refused"}`)
			}
			return fmt.Appendf(nil, `{"type":"accepted","id":%q}`, id)
		},
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
	}
}

// heard is a frame that a client reads.
type heard struct {
	Type, ID, SenderID, Message string
	Seq, After                  int64
}

// dial opens a socket; after < 0 is from now on.
func (h *house) dial(room, member string, after int64) *websocket.Conn {
	h.Helper()
	conn, err := h.tryDial(h.Context(), room, member, after)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

func (h *house) tryDial(ctx context.Context, room, member string, after int64) (*websocket.Conn, error) {
	conn, _, err := websocket.Dial(ctx, fmt.Sprintf("%s/?room=%s&member=%s&after=%d", h.url, room, member, after), &websocket.DialOptions{HTTPClient: h.client}) //nolint:bodyclose // Dial has read what there is of it
	return conn, err
}

// hear reads the next frame.
func hear(ctx context.Context, conn *websocket.Conn) (f heard, err error) {
	_, body, err := conn.Read(ctx)
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(body, &f)
}

// next reads the next frame of a type.
func (h *house) next(conn *websocket.Conn, typ string) heard {
	h.Helper()
	for {
		f, err := hear(h.Context(), conn)
		if err != nil {
			h.Fatalf("waiting for %s: %v", typ, err)
		}
		if f.Type == typ {
			return f
		}
	}
}

// join makes a member join a room.
func (h *house) join(member, room string) {
	h.Helper()
	if err := h.chat.Join(h.Context(), member, room); err != nil {
		h.Fatal(err)
	}
}

// send sends and returns the event.
func (h *house) send(member, room, text string) event.Event {
	h.Helper()
	id, err := h.chat.Send(h.Context(), member, room, text)
	if err != nil {
		h.Fatal(err)
	}
	for _, e := range h.box.Outbox.Take() {
		if e.ID == id {
			return e
		}
	}
	h.Fatalf("the event of %s is not in the outbox", id)
	return event.Event{}
}

// handle lets a group handle an event.
func (h *house) handle(group string, e event.Event) (effect string, err error) {
	for _, c := range h.chat.Consumers() {
		if c.Group != group {
			continue
		}
		err = h.box.Store.Write(context.Background(), func(ctx context.Context, tx *sql.Tx) (err error) {
			effect, err = c.Handlers[e.Type](ctx, tx, e)
			return err
		})
	}
	return effect, err
}

// must is handle with a wanted effect.
func (h *house) must(group string, e event.Event, want string) {
	h.Helper()
	if got, err := h.handle(group, e); err != nil || got != want {
		h.Fatalf("%s: %q, %v; want %q", group, got, err, want)
	}
}

// say sends and stores a message.
func (h *house) say(member, room, text string) event.Event {
	h.Helper()
	e := h.send(member, room, text)
	h.must(events.GroupChatPersist, e, "stored")
	return e
}

// stored are the messages of a room.
func (h *house) stored(room string) []chat.Message {
	h.Helper()
	all, err := h.chat.After(context.Background(), room, 0, 100_000)
	if err != nil {
		h.Fatal(err)
	}
	for i, m := range all {
		if m.Seq != int64(i+1) {
			h.Fatalf("%s has a gap: message %d has the place %d", room, i+1, m.Seq)
		}
	}
	return all
}

func idsOf(messages []chat.Message) []string {
	ids := make([]string, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
	}
	return ids
}

func forever(c chat.Config) chat.Config {
	c.Look = 24 * time.Hour // bells alone
	return c
}

// mute is a broker that loses everything.
type mute struct{}

func (mute) Publish(context.Context, driver.Message) error { return nil }
func (mute) Listen(ctx context.Context, l driver.Listener) error {
	l.Up()
	<-ctx.Done()
	return nil
}

var _ net.Listener = (*boxtest.Pipes)(nil)

// rolledBack runs a handler in a transaction that fails after it.
func rolledBack(t *testing.T, h *house, handle store.Handler, e event.Event, why error) error {
	t.Helper()
	return h.box.Store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if _, err := handle(ctx, tx, e); err != nil {
			return err
		}
		return why
	})
}

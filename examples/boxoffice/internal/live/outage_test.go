package live

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
)

// fleeting is for tests with an outage of Redis: streams end soon after it.
var fleeting = sse.Config{Lease: 1500 * time.Millisecond, Retry: time.Millisecond, Spread: time.Millisecond}

// TestRedisAway: streams point to the inbox and end, tickets are issued, and a tab
// that only does the same as browsers has its stream back.
func TestRedisAway(t *testing.T) {
	both(t, func(t *testing.T, streams sse.Config) {
		server := redistest.StartServer(t)
		cfg := greeted
		cfg.Streams = fleeting
		cfg.Streams.Lean = streams.Lean
		o := open(t, inRedis(t, server, ""), cfg)
		page := o.tab(browser(t), "ann")
		s := page.comesBack()
		server.Kill()
		if got := s.ends("fallback"); got.data != `{"inbox":"/api/notifications"}` {
			t.Errorf("the stream ends with %+v", got)
		}
		if got := page.opens().ends("fallback"); got.data != `{"inbox":"/api/notifications"}` {
			t.Errorf("a tab that comes back is told %+v", got)
		}
		late := o.tab(browser(t), "ann") // a ticket is no call of Redis
		refused := late.opens()
		if got := refused.ends("fallback"); got.data != `{"inbox":"/api/notifications"}` || refused.header.Get("Set-Cookie") != "" {
			t.Errorf("a new tab is told %+v, and given %q", got, refused.header.Get("Set-Cookie"))
		}
		o.script(t)
		assert.Error(t, o.Hub().ToMember(t.Context(), "ann", notice("lost")), "an event was sent without Redis")
		server.Start()
		s = page.comesBack()
		o.ready()
		o.send("ann", "1")
		e, ok := s.next()
		for ok && e.name == "hello" { // again, when the broker came back after the cap
			e, ok = s.next()
		}
		if e.data != "1" {
			t.Errorf("after the outage %+v (%v)", e, s.lines.Err())
		}
		o.tab(browser(t), "ann").comesBack()
	})
}

// comesBack retries as often as it is told to, until it has a stream that stays.
func (b *tab) comesBack() *stream {
	b.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		s := b.opens()
		if e, ok := s.next(); ok && e.name == "hello" {
			return s
		}
		s.leave()
	}
	b.t.Fatalf("the tab has no stream after %v", patience)
	return nil
}

// script requests a stream as a program that is no browser does.
func (o *office) script(t *testing.T) {
	t.Helper()
	ticket, _, err := o.Ticket("ann")
	must(t, err)
	answer, err := browser(t).Get(o.url + Path + "?ticket=" + ticket)
	must(t, err)
	defer answer.Body.Close() //nolint:errcheck // read to its end
	var body struct{ Inbox string }
	must(t, json.NewDecoder(answer.Body).Decode(&body))
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || body.Inbox != "/api/notifications" {
		t.Errorf("a program is answered %d, to come back after %q s: %+v", answer.StatusCode, answer.Header.Get("Retry-After"), body)
	}
}

// TestWhatCannotBeRead: a stream that cannot begin ends, and names the inbox's
// address.
func TestWhatCannotBeRead(t *testing.T) {
	away := errors.New("the database is away")
	for name, cfg := range map[string]Config{
		"rooms":  {Rooms: func(context.Context, string) ([]string, error) { return nil, away }},
		"muted":  {Muted: func(context.Context, string) (bool, error) { return false, away }},
		"replay": {Replayers: []Replayer{greeting{}, failing{away}}},
		"ticket": {},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Streams = steady
			shared := inMemory(t)
			if name == "ticket" {
				shared.Spent = broken{}
			}
			o := open(t, shared, cfg)
			s := o.tab(browser(t), "ann").opens()
			if got := s.ends("fallback"); got.data != `{"inbox":"/api/notifications"}` {
				t.Errorf("the stream ends with %+v", got)
			}
			if set := s.header.Get("Set-Cookie"); (set == "") != (name == "ticket") {
				t.Errorf("the cookie is %q", set)
			}
			eventually(t, "the stream is forgotten", func() bool { return o.Hub().Stats().Streams == 0 })
		})
	}
}

type failing struct{ err error }

// Replay implements Replayer.
func (f failing) Replay(context.Context, string, sse.Cursors) (sse.Missed, error) {
	return sse.Missed{}, f.err
}

// standing is a member's rooms and mute, as a database has them.
type standing struct {
	mu     sync.Mutex
	rooms  []string
	muted  bool
	change func() // after the first read
}

func (s *standing) Rooms(context.Context, string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rooms, nil
}

// Muted is read last.
func (s *standing) Muted(context.Context, string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if s.change != nil {
			s.change()
			s.change = nil
		}
	}()
	return s.muted, nil
}

func (s *standing) set(muted bool, rooms ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.muted, s.rooms = muted, rooms
}

// patchy is a broker that loses messages on request.
type patchy struct {
	driver.Broker
	deaf atomic.Bool
	l    chan driver.Listener
}

func (p *patchy) Publish(ctx context.Context, m driver.Message) error {
	if p.deaf.Load() {
		return errBroken
	}
	return p.Broker.Publish(ctx, m)
}

func (p *patchy) Listen(ctx context.Context, l driver.Listener) error {
	p.l <- l
	return p.Broker.Listen(ctx, l)
}

// TestWhatChangesWhileAStreamOpens: the stream missed the change, since it was not
// registered yet. Then the broker is unreachable, and the change cannot be sent.
func TestWhatChangesWhileAStreamOpens(t *testing.T) {
	both(t, func(t *testing.T, streams sse.Config) {
		shared := inMemory(t)
		broker := &patchy{Broker: shared.Broker, l: make(chan driver.Listener, 1)}
		shared.Broker = broker
		db := &standing{rooms: []string{"kept", "left"}}
		db.change = func() { db.rooms, db.muted = []string{"kept", "joined"}, true }
		o := open(t, shared, Config{Streams: streams, Rooms: db.Rooms, Muted: db.Muted, Replayers: []Replayer{greeting{}}})
		listener := <-broker.l
		say := func(room string) {
			t.Helper()
			must(t, o.Hub().ToRoom(t.Context(), room, sse.Event{Name: "chat", Data: []byte(room)}))
		}
		s := o.tab(browser(t), "ann").opens()
		s.gets("hello")
		o.send("ann", "1") // muted
		for _, room := range []string{"left", "kept", "joined"} {
			say(room)
		}
		s.gets("kept", "joined")

		listener.Down()
		broker.deaf.Store(true)
		db.set(false, "joined", "later")
		listener.Up() // for a moment only: it is back, and cannot be published to
		s.gets("hello")
		listener.Down()
		broker.deaf.Store(false)
		listener.Up()
		s.gets("hello")
		for _, room := range []string{"left", "kept", "joined", "later"} {
			say(room)
		}
		o.send("ann", "2")
		s.gets("joined", "later", "2")

		// The stream is told of changes, and misses that they are undone.
		must(t, o.Hub().Leave(t.Context(), "ann", "later"))
		must(t, o.Hub().Mute(t.Context(), "ann", true))
		listener.Down()
		listener.Up()
		s.gets("hello")
		for _, room := range []string{"later", "joined"} {
			say(room)
		}
		o.send("ann", "3")
		say("joined") // follows, if the notification does not
		s.gets("later", "joined", "3")
	})
}

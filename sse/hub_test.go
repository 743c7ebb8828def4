package sse_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/sse"
)

func TestHeaders(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean})
		c := dial(t, s.url+"?member=ann")
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
		} {
			if got := c.header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		assert.Equal(t, http.StatusOK, c.status, "status")
		assert.Equal(t, "3000", <-c.retry, "retry")
	})
}

func TestWhoGetsWhat(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		c, b := newCap(t), newBroker(t)
		one, two := start(t, c, b, sse.Config{Lean: lean}), start(t, c, b, sse.Config{Lean: lean})
		ann, ann2 := dial(t, one.url+"?member=ann&room=r1"), dial(t, two.url+"?member=ann&room=r2")
		bob := dial(t, two.url+"?member=bob")
		eventually(t, "three are there", func() bool { return one.Stats().Streams+two.Stats().Streams == 3 })
		ctx := t.Context()
		must(t, one.ToMember(ctx, "ann", text("to ann")))
		must(t, two.ToRoom(ctx, "r1", text("to r1")))
		must(t, one.Join(ctx, "bob", "r1"))
		must(t, one.ToRoom(ctx, "r1", text("to r1 with bob")))
		must(t, one.Leave(ctx, "ann", "r1"))
		must(t, one.ToRoom(ctx, "r1", text("to r1 without ann")))
		must(t, one.ToMember(ctx, "nobody", text("to nobody")))
		must(t, one.ToAll(ctx, text("to all")))
		ann.gets("to ann", "to r1", "to r1 with bob", "to all")
		ann2.gets("to ann", "to all")
		bob.gets("to r1 with bob", "to r1 without ann", "to all")
	})
}

func TestMuteStopsNotificationsOnly(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean})
		ann, bob := dial(t, s.url+"?member=ann"), dial(t, s.url+"?member=bob&muted")
		ctx := t.Context()
		say := func(data string) {
			t.Helper()
			for _, name := range []string{"notification", "chat"} {
				must(t, s.ToAll(ctx, sse.Event{Name: name, Data: []byte(name + data)}))
			}
		}
		say("1")
		must(t, s.Mute(ctx, "ann", true))
		must(t, s.Mute(ctx, "bob", false))
		say("2")
		must(t, s.Mute(ctx, "ann", false))
		say("3")
		ann.gets("notification1", "chat1", "chat2", "notification3", "chat3")
		bob.gets("chat1", "notification2", "chat2", "notification3", "chat3")
		assert.EqualValues(t, 2, s.Stats().Muted, "were muted")
	})
}

func TestOneEventNameLeavesTheOthersCursor(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean})
		fresh, back := dial(t, s.url+"?member=ann"), dial(t, s.url+"?member=ann", "Last-Event-ID", "n0;chat=c0")
		ctx := t.Context()
		for _, e := range []sse.Event{
			{Name: "chat", ID: "c1"}, {Name: "notification", ID: "n1"}, {Name: "notification", ID: "n2"}, {Name: "chat", ID: "c2"}, {Name: "other"},
		} {
			must(t, s.ToMember(ctx, "ann", e))
		}
		for who, want := range map[*client][]string{
			fresh: {";chat=c1", "n1;chat=c1", "n2;chat=c1", "n2;chat=c2", "n2;chat=c2"},
			back:  {"n0;chat=c1", "n1;chat=c1", "n2;chat=c1", "n2;chat=c2", "n2;chat=c2"},
		} {
			for _, id := range want {
				if got := who.next(); got.LastID != id {
					t.Errorf("%+v, want the id %q", got, id)
				}
			}
		}
	})
}

func TestEventsThatCannotBe(t *testing.T) {
	s := start(t, newCap(t), newBroker(t), sse.Config{})
	ctx := t.Context()
	for name, err := range map[string]error{
		"name with a line break": s.ToAll(ctx, sse.Event{Name: "a\nb"}),
		"id without a cursor":    s.ToAll(ctx, sse.Event{Name: "x", ID: "1"}),
		"id that is two cursors": s.ToAll(ctx, sse.Event{Name: "chat", ID: "1;chat=2"}),
		"too long":               s.ToAll(ctx, sse.Event{Data: make([]byte, 1<<20)}),
		"no member":              s.ToMember(ctx, "", text("x")),
		"no room":                s.ToRoom(ctx, "", text("x")),
		"no room to join":        s.Join(ctx, "ann", ""),
	} {
		assert.ErrorIsf(t, err, sse.ErrInvalid, "%s", name)
	}
	if c := dial(t, s.url+"?member="); c.status != http.StatusBadRequest || !errors.Is(<-s.served, sse.ErrInvalid) {
		t.Errorf("a stream for nobody is answered %d", c.status)
	}
}

func TestLifetime(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean, Ping: 20 * time.Millisecond, Lifetime: 300 * time.Millisecond, Retry: time.Second})
		c := dial(t, s.url+"?member=ann")
		c.over()
		if ms, last := <-c.retry, <-c.retry; ms != "1000" || last != "1000" {
			t.Errorf("retry is %s and %s", ms, last)
		}
		eventually(t, "it is closed", func() bool { return s.Stats().Ended.Expired == 1 })
		if st := s.Stats(); st.Streams != 0 || st.Members != 0 || st.Rooms != 0 {
			t.Errorf("left: %+v", st)
		}
	})
}

func TestAClientThatLeavesIsForgotten(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		store := newCap(t)
		s := start(t, store, newBroker(t), sse.Config{Lean: lean, Ping: 30 * time.Millisecond})
		c := dial(t, s.url+"?member=ann&room=r")
		eventually(t, "it is there", func() bool { return s.Stats().Rooms == 1 })
		c.close()
		eventually(t, "it is gone", func() bool { st := s.Stats(); return st.Ended.Gone == 1 && st.Streams+st.Members+st.Rooms == 0 })
		eventually(t, "its entry is removed", func() bool { return store.Members() == 0 })
	})
}

func TestOverHTTP2(t *testing.T) {
	var server *httptest.Server
	// A stream outlives the server's timeouts.
	s := start(t, newCap(t), newBroker(t), sse.Config{Lean: true, Ping: 20 * time.Millisecond, WriteTimeout: 5 * time.Second}, func(u *httptest.Server) {
		u.EnableHTTP2 = true
		u.Config.WriteTimeout, u.Config.ReadTimeout = 200*time.Millisecond, 200*time.Millisecond
		u.StartTLS()
		server = u
	})
	c := dialBy(t, server.Client(), s.url+"?member=ann")
	before := s.Stats().Writes
	eventually(t, "pings beyond the server's timeouts", func() bool { return s.Stats().Writes > before+30 })
	must(t, s.ToMember(t.Context(), "ann", text("hello")))
	c.gets("hello")
	c.close()
	eventually(t, "it is gone", func() bool { return s.Stats().Ended.Gone == 1 })
	server.Client().CloseIdleConnections()
}

func TestStreamsOutliveTheServersTimeouts(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean, Ping: 20 * time.Millisecond}, func(u *httptest.Server) {
			u.Config.WriteTimeout, u.Config.ReadTimeout = 200*time.Millisecond, 200*time.Millisecond
		})
		c := dial(t, s.url+"?member=ann")
		before := s.Stats().Writes
		eventually(t, "pings beyond them", func() bool { return s.Stats().Writes > before+30 })
		must(t, s.ToMember(t.Context(), "ann", text("hello")))
		c.gets("hello")
	})
}

func TestDrainSendsAllAwayWithASpread(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		chance := make(chan float64, 100)
		store := newCap(t)
		s := start(t, store, newBroker(t), sse.Config{Lean: lean, Retry: time.Second, Spread: 10 * time.Second, Random: func() float64 {
			select {
			case r := <-chance:
				return r
			default:
				return 0.5
			}
		}})
		a, b := dial(t, s.url+"?member=ann&room=r"), dial(t, s.url+"?member=bob")
		must(t, s.ToAll(t.Context(), text("x")))
		a.gets("x")
		b.gets("x")
		chance <- 0
		chance <- 0.25
		s.end()
		a.over()
		b.over()
		<-a.retry
		<-b.retry
		if one, two := <-a.retry, <-b.retry; one == two || one != "1000" && one != "3500" || two != "1000" && two != "3500" {
			t.Errorf("clients are sent away for %s and %s ms", one, two)
		}
		if st := s.Stats(); st.Streams != 0 || st.Ended.Drained != 2 {
			t.Errorf("after the end: %+v", st)
		}
		assert.Equal(t, 0, store.Members(), "members are left in the cap")
		if late := dial(t, s.url+"?member=ann"); late.status != http.StatusServiceUnavailable || late.header.Get("Retry-After") != "6" {
			t.Errorf("who comes late is answered %d, %v", late.status, late.header)
		}
	})
}

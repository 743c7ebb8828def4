package sse_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/internal/tcpproxy/proxytest"
	"github.com/millrace-go/millrace/sse"
)

// After each cut a client goes on where it was: the browser, the npm package and
// curl each read each event once.
func TestProgramsResumeAfterCuts(t *testing.T) {
	programs(t, func(t *testing.T, p program) {
		both(t, func(t *testing.T, lean bool) {
			const rounds, each = 12, 10
			// One stream is allowed: a tab that came back as another tab would be
			// refused or evict itself.
			s, table := start(t, newCap(t), newBroker(t), sse.Config{
				Lean: lean, Max: 1, Retry: 20 * time.Millisecond, Ping: 200 * time.Millisecond, Lifetime: 700 * time.Millisecond,
			}), &stored{}
			s.replay = table.Replay
			d := openDoor(t, s)
			network := proxytest.Start(t, d.server.Listener.Addr().String())
			w := p.start(t, "http://"+network.Addr())("/stream?tab=one", "notification", "chat", "evicted", "fallback", "ping")
			w.opened()

			var want []told
			notifications, chats := 0, 0
			send := func(n int) {
				t.Helper()
				for range n {
					var e sse.Event
					if len(want)%3 == 2 {
						chats++
						e = table.add("chat", chats)
					} else {
						notifications++
						e = table.add("notification", notifications)
					}
					id := fmt.Sprint(notifications)
					if chats > 0 {
						id += fmt.Sprint(";chat=", chats)
					}
					want = append(want, told{e.Name, string(e.Data), id})
					must(t, s.ToMember(t.Context(), "ann", e))
				}
			}
			for round := range rounds {
				send(each)
				if round%2 == 0 { // else the cut comes while they are on their way
					w.until("all has come", func(seen []report) bool { return len(events(seen)) >= len(want) })
				}
				network.Cut()
				send(each)
				w.until("all has come after a cut", func(seen []report) bool { return len(events(seen)) >= len(want) })
			}
			for range 2 { // and two cuts by the server, at the end of a lifetime
				before := s.Stats().Ended.Expired
				eventually(t, "a lifetime is over", func() bool { return s.Stats().Ended.Expired > before })
				send(each)
				w.until("all has come after a lifetime", func(seen []report) bool { return len(events(seen)) >= len(want) })
			}
			seen := w.reports()
			if got := events(seen); !slices.Equal(got, want) {
				for i := range min(len(got), len(want)) {
					if got[i] != want[i] {
						t.Fatalf("event %d of %d is %+v, want %+v", i, len(want), got[i], want[i])
					}
				}
				t.Fatalf("%d events, want %d", len(got), len(want))
			}
			if n := errorsOf(seen, comesBack); n < rounds/2 || errorsOf(seen, gaveUp) > 0 {
				t.Errorf("the client was cut %d times, and gave up %d times", n, errorsOf(seen, gaveUp))
			}
			t.Logf("%d events, %d streams, ended: %v", len(want), len(d.requests("one")), s.Stats().Ended)
		})
	})
}

// A fourth tab ends the first, which comes back once by itself and gets 204.
func TestProgramsStayAwayWhenEvicted(t *testing.T) {
	programs(t, func(t *testing.T, p program) {
		both(t, func(t *testing.T, lean bool) {
			s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean, Retry: 20 * time.Millisecond})
			d := openDoor(t, s)
			follow := p.start(t, d.server.URL)
			var tabs []*watcher
			for i := range 4 {
				tab := follow(fmt.Sprint("/stream?tab=", i), "message", "evicted", "ping")
				tab.opened()
				tabs = append(tabs, tab)
			}
			tabs[0].until("the oldest gives up", func(seen []report) bool { return errorsOf(seen, gaveUp) == 1 })
			if got := events(tabs[0].reports()); len(got) != 1 || got[0].Name != "evicted" {
				t.Errorf("the oldest is told %+v", got)
			}
			must(t, s.ToMember(t.Context(), "ann", text("to three")))
			for i, tab := range tabs[1:] {
				tab.until("the others hear", func(seen []report) bool { return len(events(seen)) > 0 })
				if seen := tab.reports(); events(seen)[0].Data != "to three" || errorsOf(seen, comesBack)+errorsOf(seen, gaveUp) > 0 {
					t.Errorf("tab %d has seen %+v", i+1, seen)
				}
			}
			if n, st := len(d.requests("0")), s.Stats(); n != 2 || st.Evictions != 1 || st.Streams != 3 {
				t.Errorf("the oldest has asked %d times; %+v", n, st)
			}
		})
	})
}

// Without the cap an EventSource gets the inbox's address and comes back after
// retry; curl gets Retry-After.
func TestProgramsComeBackAfterAnOutage(t *testing.T) {
	programs(t, func(t *testing.T, p program) {
		t.Parallel()
		// Longer than any client waits without a retry.
		const retry = 4500 * time.Millisecond
		c := &away{Cap: newCap(t)}
		s := start(t, c, newBroker(t), sse.Config{Inbox: "/inbox", Retry: retry, Random: func() float64 { return 0 }})
		d := openDoor(t, s)
		c.down.Store(true)
		w := p.start(t, d.server.URL)("/stream?tab=one", "message", "fallback")
		eventually(t, "the client is refused", func() bool { return s.Stats().Outages == 1 })
		c.down.Store(false)
		if p.read != nil {
			w.until("the client is pointed to the inbox", func(seen []report) bool { return len(events(seen)) == 1 && errorsOf(seen, comesBack) == 1 })
			if got := events(w.reports())[0]; got.Name != "fallback" || got.Data != `{"inbox":"/inbox"}` {
				t.Errorf("the client is told %+v", got)
			}
		}
		eventually(t, "the client is back", func() bool { return s.Stats().Streams == 1 })
		must(t, s.ToMember(t.Context(), "ann", text("back")))
		w.until("the client hears", func(seen []report) bool {
			got := events(seen)
			return len(got) > 0 && got[len(got)-1].Data == "back"
		})
		asked := d.requests("one")
		if len(asked) != 2 || asked[1].Sub(asked[0]) < retry-100*time.Millisecond {
			t.Errorf("the client has asked at %v, and was told to wait %v", asked, retry)
		}
		if n := errorsOf(w.reports(), gaveUp); n > 0 {
			t.Error("the client has given up")
		}
	})
}

// A browser brings its cookie by itself, and other programs a ticket. A client with
// neither is refused, and does not come back.
func TestProgramsAreKnownByCookieOrTicket(t *testing.T) {
	programs(t, func(t *testing.T, p program) {
		s := start(t, newCap(t), newBroker(t), sse.Config{Retry: 20 * time.Millisecond})
		d := openDoor(t, s)
		follow := p.start(t, d.server.URL)
		known := follow("/stream?tab=one", "message")
		known.opened()
		ticket := follow("/stream?ticket=ann.two", "message")
		ticket.opened()
		must(t, s.ToMember(t.Context(), "ann", text("hello")))
		for _, w := range []*watcher{known, ticket} {
			w.until("both hear", func(seen []report) bool { got := events(seen); return len(got) == 1 && got[0].Data == "hello" })
		}
		if p.name == "npm" { // which has no cookie
			stranger := follow("/stream", "message")
			stranger.until("it is refused", func(seen []report) bool { return errorsOf(seen, gaveUp) == 1 })
		}
		assert.EqualValues(t, 2, s.Stats().Opened, "streams")
	})
}

package queuehttp_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue/queuehttp"
)

// shows answers Config.Known, and counts the calls.
type shows struct {
	asked atomic.Int64
	err   atomic.Pointer[error]
	takes time.Duration
}

func (s *shows) known(ctx context.Context, event string) error {
	s.asked.Add(1)
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.err.Load(); err != nil {
		return *err
	}
	if event == "show-1" || event == "show-2" {
		return nil
	}
	return fmt.Errorf("catalog: %w", queuehttp.ErrUnknownEvent)
}

func (s *shows) say(err error) { s.err.Store(&err) }

func TestUnknownEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shows shows
		s := newSite(t, 1, func(c *queuehttp.Config) { c.Known = shows.known })
		alice := s.browser("alice")
		for _, path := range []string{"check", "heartbeat", "leave", "done"} {
			alice.refused(alice.do("POST", "/api/queue/"+path+"/show-9", ""), 404, "event-not-found", "")
		}
		alice.refused(alice.do("GET", "/api/queue/status/show-9", ""), 404, "event-not-found", "")
		admin := s.browser("admin")
		admin.refused(admin.do("PUT", "/api/queue/admin/threshold/show-9", `{"threshold":1}`), 404, "event-not-found", "")
		events, err := s.store.Events(t.Context())
		if err != nil || len(events) != 0 || s.store.visits.Load() != 0 {
			t.Errorf("an event that is not real reached the store: %v, %v", events, err)
		}
	})
}

// Any number of polls asks for an event once in KnownFor.
func TestKnownIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shows := shows{takes: 100 * time.Millisecond}
		s := newSite(t, 1000, func(c *queuehttp.Config) { c.Known = shows.known })
		crowd := func() {
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					if a := s.browser(fmt.Sprint("user-", i)).check("show-1"); a.status != 200 {
						t.Errorf("%d %s", a.status, a.text)
					}
				})
			}
			wg.Wait()
		}
		crowd()
		crowd()
		if n := shows.asked.Load(); n != 1 {
			t.Errorf("a crowd asked %d times", n)
		}
		time.Sleep(time.Minute)
		crowd()
		crowd()
		if n := shows.asked.Load(); n != 2 {
			t.Errorf("a crowd a minute later asked %d times in all", n)
		}
	})
}

// During an outage of the catalog known events stay known, and no others get in.
func TestCatalogAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shows shows
		s := newSite(t, 1, func(c *queuehttp.Config) { c.Known = shows.known })
		alice := s.browser("alice")
		alice.check("show-1")
		shows.say(errAway)
		time.Sleep(10 * time.Minute)
		for range 3 {
			if a := alice.check("show-1"); a.status != 200 {
				t.Errorf("a known event: %d %s", a.status, a.text)
			}
		}
		if n := shows.asked.Load(); n != 2 {
			t.Errorf("asked %d times, want one more", n)
		}
		alice.refused(alice.check("show-2"), 503, "unavailable", "")
		shows.say(errors.New("a bug"))
		alice.refused(alice.check("show-2"), 500, "internal", "")
		shows.takes = time.Hour
		alice.refused(alice.check("show-2"), 503, "unavailable", "")
	})
}

// An event that is over takes no user into the line, and lets all leave.
func TestEventsThatAreOver(t *testing.T) {
	for name, c := range map[string]error{"event-ended": queuehttp.ErrEnded, "sold-out": queuehttp.ErrSoldOut} {
		synctest.Test(t, func(t *testing.T) {
			var shows shows
			s := newSite(t, 1, func(cfg *queuehttp.Config) { cfg.Known = shows.known })
			alice, bob := s.browser("alice"), s.browser("bob")
			alice.check("show-1")
			bob.check("show-1")
			shows.say(c)
			time.Sleep(time.Minute)
			for range 2 {
				bob.refused(bob.check("show-1"), 410, name, "")
			}
			alice.want(alice.do("POST", "/api/queue/heartbeat/show-1", ""), "active", 0, 0, 0)
			if a := bob.do("POST", "/api/queue/leave/show-1", ""); a.status != 204 {
				t.Errorf("leaving: %d %s", a.status, a.text)
			}
			if a := s.browser("admin").do("GET", "/api/queue/admin/status/show-1", ""); a.status != 200 || a.body.QueueSize != 0 {
				t.Errorf("the operator: %d %s", a.status, a.text)
			}
		})
	}
}

// A removed event is unknown after KnownFor.
func TestEventTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shows shows
		s := newSite(t, 1, func(c *queuehttp.Config) { c.Known = shows.known })
		alice := s.browser("alice")
		alice.check("show-1")
		shows.say(queuehttp.ErrUnknownEvent)
		time.Sleep(time.Minute)
		alice.refused(alice.check("show-1"), 404, "event-not-found", "")
		shows.say(errAway) // nothing is known that could go on to count
		alice.refused(alice.check("show-1"), 503, "unavailable", "")
	})
}

// A panic of Known fails the request that called it; the next one calls it again.
func TestKnownPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		var shows shows
		s := newSite(t, 1, func(c *queuehttp.Config) {
			c.Known = func(ctx context.Context, event string) error {
				if broken.Load() {
					panic("a bug")
				}
				return shows.known(ctx, event)
			}
		})
		alice := s.browser("alice")
		try := func() (panicked bool) {
			defer func() { panicked = recover() != nil }()
			alice.check("show-1")
			return false
		}
		broken.Store(true)
		assert.True(t, try(), "the first request did not see the panic")
		broken.Store(false)
		alice.want(alice.check("show-1"), "active", 0, 0, 0)
		time.Sleep(time.Minute)
		broken.Store(true)
		assert.True(t, try(), "a later request did not see the panic")
		broken.Store(false)
		alice.want(alice.check("show-1"), "active", 0, 0, 0)
		if n := shows.asked.Load(); n != 2 {
			t.Errorf("asked %d times besides, want 2", n)
		}
	})
}

// The classifier decides about a driver's error.
func TestClassify(t *testing.T) {
	var shows shows
	shows.say(errors.New("database is locked"))
	for want, classify := range map[int]fault.Classifier{
		500: nil,
		503: func(error) fault.Class { return fault.Infrastructure },
	} {
		s := newSite(t, 1, func(c *queuehttp.Config) { c.Known, c.Classify = shows.known, classify })
		if a := s.browser("alice").check("show-1"); a.status != want || (a.header.Get("Retry-After") != "") != (want == 503) {
			t.Errorf("%d %v %s, want %d", a.status, a.header, a.text, want)
		}
	}
}

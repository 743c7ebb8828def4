package sse_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
)

func TestOneTooManyEndsTheOldest(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		c, b := newCap(t), newBroker(t)
		one, two := start(t, c, b, sse.Config{Lean: lean}), start(t, c, b, sse.Config{Lean: lean})
		var tabs []*client
		for i, s := range []*site{one, two, one, two} {
			tabs = append(tabs, dial(t, s.url+fmt.Sprintf("?member=ann&token=t%d", i)))
		}
		if last := tabs[0].next(); last.Name != "evicted" {
			t.Errorf("the oldest is told %+v", last)
		}
		tabs[0].over()
		must(t, one.ToMember(t.Context(), "ann", text("to three")))
		for _, tab := range tabs[1:] {
			tab.gets("to three")
		}
		eventually(t, "it is counted", func() bool { return one.Stats().Ended.Evicted == 1 })

		// Four tabs do not evict each other for ever.
		assert.Equal(t, http.StatusNoContent, dial(t, two.url+"?member=ann&token=t0").status, "an evicted tab that comes back is answered")
		eventually(t, "it is counted", func() bool { return two.Stats().Evictions == 1 })
		must(t, one.ToMember(t.Context(), "ann", text("still to three")))
		for _, tab := range tabs[1:] {
			tab.gets("still to three")
		}
		assert.EqualValues(t, 1, two.Stats().Victims+one.Stats().Victims, "victims")
	})
}

func TestATabThatComesBackTakesItsOwnPlace(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean, Max: 2})
		first, other := dial(t, s.url+"?member=ann&token=a"), dial(t, s.url+"?member=ann&token=b")
		for range 5 { // as after a change of networks that the server has not noticed
			back := dial(t, s.url+"?member=ann&token=a")
			require.Equal(t, http.StatusOK, back.status, "a tab that comes back is answered")
			if e := first.next(); e.Name != "evicted" {
				t.Fatalf("its old connection gets %+v", e)
			}
			first.over()
			first = back
		}
		must(t, s.ToMember(t.Context(), "ann", text("x")))
		first.gets("x")
		other.gets("x")
	})
}

// deaf drops the messages about evictions.
type deaf struct {
	driver.Broker
	dropped atomic.Int64
}

func (d *deaf) Publish(ctx context.Context, m driver.Message) error {
	if m.Kind == driver.Disconnect {
		d.dropped.Add(1)
		return nil
	}
	return d.Broker.Publish(ctx, m)
}

func TestLostEvictionsAreFoundByThePing(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		c, b := newCap(t), &deaf{Broker: newBroker(t)}
		cfg := sse.Config{Lean: lean, Ping: 50 * time.Millisecond, Max: 1}
		one, two := start(t, c, b, cfg), start(t, c, b, cfg)
		old := dial(t, one.url+"?member=ann&token=a")
		dial(t, two.url+"?member=ann&token=b")
		if e := old.next(); e.Name != "evicted" {
			t.Errorf("the oldest is told %+v", e)
		}
		old.over()
		assert.EqualValues(t, 1, b.dropped.Load(), "messages were dropped")
	})
}

func TestStreamsThatTheCapForgotComeBack(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		c := &losing{Cap: newCap(t)}
		s := start(t, c, newBroker(t), sse.Config{Lean: lean, Ping: 50 * time.Millisecond, Retry: time.Second})
		tab := dial(t, s.url+"?member=ann&token=a")
		<-tab.retry
		c.lost.Store(true)
		tab.over()
		<-tab.retry // not "evicted", which would keep it away
		c.lost.Store(false)
		eventually(t, "it is counted", func() bool { return s.Stats().Ended.Lost == 1 })
		assert.Equal(t, http.StatusOK, dial(t, s.url+"?member=ann&token=a").status, "it comes back and is answered")
	})
}

// losing has lost all entries while lost is set.
type losing struct {
	driver.Cap
	lost atomic.Bool
}

func (l *losing) Gone(ctx context.Context, conns []driver.Conn) ([]driver.Missing, error) {
	if !l.lost.Load() {
		return l.Cap.Gone(ctx, conns)
	}
	var all []driver.Missing
	for _, c := range conns {
		all = append(all, driver.Missing{Conn: c})
	}
	return all, nil
}

// watched records the registered connections, call by call.
type watched struct {
	driver.Cap
	t   testing.TB
	max int

	mu         sync.Mutex
	registered map[string][]string // member → connection ids, oldest first
	victims    map[string]bool
}

func (w *watched) Open(ctx context.Context, r driver.Rules, live driver.Live, c driver.Conn) (driver.Opened, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	got, err := w.Cap.Open(ctx, r, live, c)
	if err != nil {
		return got, err
	}
	gone := func(id string) bool { return slices.Contains(live.Gone, id) }
	have := slices.DeleteFunc(w.registered[c.Member], gone)
	w.registered[c.Member] = have
	if len(live.Silent) > 0 {
		w.t.Errorf("nobody answers for %v", live.Silent)
	}
	if got.Full != nil {
		if len(have) != w.max || len(got.Full) != w.max {
			w.t.Errorf("%v are in the way, registered are %v", got.Full, have)
		}
		return got, nil
	}
	have = append(have, c.ID)
	for _, v := range got.Evicted {
		if len(have) <= w.max || have[0] != v.ID {
			w.t.Errorf("%s is evicted; registered are, oldest first, %v", v.ID, have)
		}
		have = slices.DeleteFunc(have, func(id string) bool { return id == v.ID })
		w.victims[v.ID] = true
	}
	if len(have) > w.max {
		w.t.Errorf("%d are registered: %v", len(have), have)
	}
	w.registered[c.Member] = have
	return got, nil
}

func (w *watched) Close(ctx context.Context, conns []driver.Conn) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.Cap.Close(ctx, conns); err != nil {
		return err
	}
	for _, c := range conns {
		w.registered[c.Member] = slices.DeleteFunc(w.registered[c.Member], func(id string) bool { return id == c.ID })
	}
	return nil
}

// lossy drops every other eviction.
type lossy struct {
	driver.Broker
	n atomic.Int64
}

func (l *lossy) Publish(ctx context.Context, m driver.Message) error {
	if m.Kind == driver.Disconnect && l.n.Add(1)%2 == 0 {
		return nil
	}
	return l.Broker.Publish(ctx, m)
}

func TestTheCapHoldsOverFourHubs(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		const hubs, members, tabs, rounds = 4, 8, 6, 15
		c := &watched{Cap: newCap(t), t: t, max: 3, registered: map[string][]string{}, victims: map[string]bool{}}
		b := &lossy{Broker: newBroker(t)}
		var sites []*site
		for range hubs {
			sites = append(sites, start(t, c, b, sse.Config{Lean: lean, Ping: 100 * time.Millisecond}))
		}
		var all sync.WaitGroup
		for m := range members {
			for tab := range tabs {
				rnd := rand.New(rand.NewPCG(uint64(m), uint64(tab)))
				all.Go(func() {
					for range rounds {
						ctx, cancel := context.WithCancel(t.Context())
						request, err := http.NewRequestWithContext(ctx, http.MethodGet, sites[rnd.IntN(hubs)].url+fmt.Sprintf("?member=m%d", m), nil)
						assert.NoError(t, err)
						transport := &http.Transport{DisableKeepAlives: true}
						response, err := transport.RoundTrip(request) //nolint:bodyclose // closed below, when its reader is done
						if err != nil {
							t.Error(err)
							cancel()
							return
						}
						if rnd.IntN(3) > 0 { // leaves; otherwise it stays until it is evicted
							cancel()
						}
						p := parser{dispatch: func(told) {}}
						read := make(chan struct{})
						go func() { defer close(read); _ = p.read(response.Body) }()
						select {
						case <-read:
						case <-time.After(time.Duration(rnd.IntN(60)) * time.Millisecond):
						}
						cancel()
						<-read
						if err := response.Body.Close(); err != nil && !errors.Is(err, context.Canceled) {
							t.Error(err)
						}
					}
				})
			}
		}
		all.Wait()
		eventually(t, "all sockets are closed", func() bool {
			open := 0
			for _, s := range sites {
				open += s.Stats().Streams
			}
			return open == 0
		})
		var ended, opened int64
		for _, s := range sites {
			st := s.Stats()
			opened += st.Opened
			e := st.Ended
			ended += e.Gone + e.Slow + e.Evicted + e.Expired + e.Drained + e.Outage + e.Lost + e.Unsynced + e.Refused
			s.end()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if opened != members*tabs*rounds || ended != opened {
			t.Errorf("%d were opened, %d ended", opened, ended)
		}
		if len(c.victims) == 0 || b.n.Load() < 2 {
			t.Errorf("%d victims, %d told: nothing was put to the test", len(c.victims), b.n.Load())
		}
		for m, ids := range c.registered {
			if len(ids) > 0 {
				t.Errorf("%s still has %v", m, ids)
			}
		}
	})
}

func TestVictimsSocketsAreClosed(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		c, b := newCap(t), &lossy{Broker: newBroker(t)}
		var sites []*site
		for range 4 {
			sites = append(sites, start(t, c, b, sse.Config{Lean: lean, Ping: 50 * time.Millisecond}))
		}
		var tabs []*client
		for i := range 20 {
			tabs = append(tabs, dial(t, sites[i%4].url+"?member=ann"))
		}
		for _, tab := range tabs[:17] {
			if e := tab.next(); e.Name != "evicted" {
				t.Errorf("a victim is told %+v", e)
			}
			tab.over()
		}
		must(t, sites[0].ToMember(t.Context(), "ann", text("three are left")))
		for _, tab := range tabs[17:] {
			tab.gets("three are left")
		}
	})
}

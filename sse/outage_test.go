package sse_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
)

// away is a Cap that is unreachable while down is set.
type away struct {
	driver.Cap
	down  atomic.Bool
	calls atomic.Int64
}

var errAway = errors.New("the store is away")

func (a *away) failing() error {
	if a.down.Load() {
		a.calls.Add(1)
		return fault.MarkTransient(errAway)
	}
	return nil
}

func (a *away) Renew(ctx context.Context, instance string, lease time.Duration) (driver.Live, error) {
	if err := a.failing(); err != nil {
		return driver.Live{}, err
	}
	return a.Cap.Renew(ctx, instance, lease)
}

func (a *away) Open(ctx context.Context, r driver.Rules, live driver.Live, c driver.Conn) (driver.Opened, error) {
	if err := a.failing(); err != nil {
		return driver.Opened{}, err
	}
	return a.Cap.Open(ctx, r, live, c)
}

func (a *away) Close(ctx context.Context, c []driver.Conn) error {
	if err := a.failing(); err != nil {
		return err
	}
	return a.Cap.Close(ctx, c)
}

func (a *away) Gone(ctx context.Context, c []driver.Conn) ([]driver.Missing, error) {
	if err := a.failing(); err != nil {
		return nil, err
	}
	return a.Cap.Gone(ctx, c)
}

var browser = []string{"Accept", "text/event-stream", "Sec-Fetch-Mode", "cors"}

func TestWithoutTheCapThereIsNoNewStream(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		c := &away{Cap: newCap(t)}
		s := start(t, c, newBroker(t), sse.Config{Lean: lean, Inbox: "/inbox", Retry: 2 * time.Second, Spread: 4 * time.Second, Random: func() float64 { return 0.5 }})
		running := dial(t, s.url+"?member=ann")
		c.down.Store(true)

		eventSource := dial(t, s.url+"?member=ann", browser...)
		if e := eventSource.next(); eventSource.status != http.StatusOK || e.Name != "fallback" || e.Data != `{"inbox":"/inbox"}` {
			t.Errorf("an EventSource is answered %d, %+v", eventSource.status, e)
		}
		eventSource.over() // and comes back
		assert.Equal(t, "4000", <-eventSource.retry, "retry")
		fetch := dial(t, s.url+"?member=ann", "Accept", "text/event-stream")
		if fetch.status != http.StatusServiceUnavailable || fetch.header.Get("Retry-After") != "4" || fetch.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("a script is answered %d, %v", fetch.status, fetch.header)
		}
		eventually(t, "both are counted", func() bool { return s.Stats().Outages == 2 })

		// Open streams go on: the lease still holds.
		must(t, s.ToMember(t.Context(), "ann", text("still here")))
		running.gets("still here")
		c.down.Store(false)
		back := dial(t, s.url+"?member=ann", browser...)
		must(t, s.ToMember(t.Context(), "ann", text("all is well")))
		running.gets("all is well")
		back.gets("all is well")
	})
}

func TestServeSaysWhyThereIsNoStream(t *testing.T) {
	c := &away{Cap: newCap(t)}
	s := start(t, c, newBroker(t), sse.Config{})
	c.down.Store(true)
	dial(t, s.url+"?member=ann")
	if err := <-s.served; !errors.Is(err, sse.ErrUnavailable) || !errors.Is(err, errAway) || fault.Of(err) != fault.Infrastructure {
		t.Errorf("Serve returns %v", err)
	}
	c.down.Store(false)
	s.end()
	dial(t, s.url+"?member=ann")
	assert.ErrorIs(t, <-s.served, sse.ErrDraining, "Serve")
}

func TestALeaseThatCannotBeRenewedEndsTheStreams(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		store := newCap(t)
		c := &away{Cap: store}
		s := start(t, c, newBroker(t), sse.Config{Lean: lean, Inbox: "/inbox", Lease: 600 * time.Millisecond, Timeout: 200 * time.Millisecond, Retry: 5 * time.Second, Lifetime: time.Hour})
		var tab *client
		eventually(t, "there is a stream", func() bool { // on a machine that stalls the lease may have lapsed
			tab = dial(t, s.url+"?member=ann&token=a")
			return tab.status == http.StatusOK
		})
		<-tab.retry
		c.down.Store(true)
		if e := tab.next(); e.Name != "fallback" || e.Data != `{"inbox":"/inbox"}` {
			t.Errorf("it ends with %+v", e)
		}
		tab.over()
		eventually(t, "all streams are ended", func() bool { st := s.Stats(); return st.Streams == 0 && !st.Leased })
		ended := s.Stats().Ended.Outage
		assert.EqualValues(t, 1, ended, "were ended")
		c.down.Store(false)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		must(t, s.Ready(ctx))
		eventually(t, "the entry is removed", func() bool { return store.Members() == 0 })
		// On a machine that stalls the lease may lapse again; a retry gets in.
		eventually(t, "there are streams again", func() bool {
			return dial(t, s.url+"?member=ann&token=a").status == http.StatusOK
		})
	})
}

// hanging never answers a renewal once it hangs.
type hanging struct {
	driver.Cap
	hangs atomic.Bool
}

func (h *hanging) Renew(ctx context.Context, instance string, lease time.Duration) (driver.Live, error) {
	if h.hangs.Load() {
		<-ctx.Done()
		return driver.Live{}, ctx.Err()
	}
	return h.Cap.Renew(ctx, instance, lease)
}

// One hub is cut off: it has no stream any more when its lease ends, which is the
// time from which others may count its entries as ghosts.
func TestAnInstanceThatIsCutOffEndsItsStreamsWithinItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &hanging{Cap: newCap(t)}
		hub, err := sse.New(c, newBroker(t), sse.Config{Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- hub.Run(ctx) }()
		must(t, hub.Ready(t.Context()))
		served := make(chan time.Time, 1)
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		go func() {
			assert.NoError(t, hub.Serve(httptest.NewRecorder(), request, sse.Stream{Member: "ann"}))
			served <- time.Now()
		}()
		time.Sleep(7 * time.Second) // by the test's clock: two renewals
		renewed := time.Now().Add(-2 * time.Second)
		c.hangs.Store(true)
		if ended := (<-served).Sub(renewed); ended > 15*time.Second || ended < 10*time.Second {
			t.Errorf("the stream ends %v after the last renewal of a lease of 15 s", ended)
		}
		if got := hub.Stats(); got.Leased || got.Ended.Outage != 1 {
			t.Errorf("after that: %+v", got)
		}
		c.hangs.Store(false)
		must(t, hub.Ready(t.Context()))
		cancel()
		must(t, <-done)
	})
}

func TestGhostsOfMembersWhoDoNotComeBackAreSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newCap(t)
		hub, err := sse.New(store, newBroker(t), sse.Config{})
		must(t, err)
		for i := range 1000 { // of an instance that is not there any more
			live, err := store.Renew(t.Context(), "dead", time.Second)
			must(t, err)
			_, err = store.Open(t.Context(), driver.Rules{Max: 3, Lifetime: time.Hour}, live, driver.Conn{Member: fmt.Sprint("m", i), ID: fmt.Sprint("dead.", i), Token: "t"})
			must(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- hub.Run(ctx) }()
		time.Sleep(time.Hour + time.Minute) // by the test's clock: two lifetimes
		if n := store.Members(); n != 0 || hub.Stats().Ghosts != 1000 {
			t.Errorf("%d members are left, %d ghosts were removed", n, hub.Stats().Ghosts)
		}
		cancel()
		must(t, <-done)
	})
}

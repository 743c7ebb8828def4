package artist

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
)

// away is a store of limits that is unreachable.
type away struct{ driver.Store }

func (away) Acquire(context.Context, *driver.Plan, driver.Ask) (driver.Grant, error) {
	return driver.Grant{}, errors.New("connection refused")
}

func budgeted(t *testing.T, s driver.Store, url string) *Upstream {
	t.Helper()
	l, err := ratelimit.New(s, ratelimit.Config{Limits: ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350}, Logger: quiet})
	require.NoError(t, err)
	b, err := NewBudget(l, time.Minute)
	require.NoError(t, err)
	t.Cleanup(b.Close)
	u, err := NewUpstream(UpstreamConfig{URL: url, Transport: b.Transport, Timeout: time.Minute, Instance: "test", Logger: quiet})
	require.NoError(t, err)
	return u
}

// The parts fit: reads of the simulated upstream's artists, through the limiter and
// the workers, until they are fresh; artists that the upstream gets wrong are dead
// letters.
func TestMirrorOfUpstream(t *testing.T) {
	up, err := upstream.New(upstream.Config{})
	require.NoError(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	start(t, "upstream", func(ctx context.Context) error { return up.Serve(ctx, ln) })
	limits := memratelimit.New()
	r := newRig(t, Config{}, WorkerConfig{Retry: quick})
	r.worker.fetch = budgeted(t, limits, "http://"+ln.Addr().String())
	r.runs(t)
	r.consumes(t)
	letters := r.on(t, DeadLetters, "watcher")
	for _, id := range []string{"1", "2", "10000"} {
		r.get(t, id)
		eventually(t, id+" is fresh", func() bool { return r.get(t, id).Freshness == Fresh })
		v := r.get(t, id)
		if n := len(v.Snapshot); n < 15_000 || n > 19_000 {
			t.Errorf("the snapshot of %s has %d bytes", id, n)
		}
	}
	r.get(t, "10001")
	next(t, letters)
	if v := r.get(t, "10001"); v.Freshness != NotFound || v.LastCheckedAt == nil {
		t.Errorf("one that the upstream does not have: %+v", v)
	}
	s := up.Stats(0)
	if s.Calls != 4 || s.Violations != 0 {
		t.Errorf("the upstream had %d calls and %d violations", s.Calls, s.Violations)
	}
}

func TestBudgetOfNoStore(t *testing.T) {
	u := budgeted(t, away{}, "http://127.0.0.1:1")
	for _, p := range []event.Priority{event.High, event.Low} {
		if _, err := u.Fetch(t.Context(), p, "1"); reasonOf(err) != NoBudget || fault.Of(err) != fault.Infrastructure {
			t.Errorf("%s without a store of limits: %v", p, err)
		}
	}
	// The budget is available, and the upstream is not: that is the upstream's failure.
	limits := memratelimit.New()
	u = budgeted(t, limits, "http://127.0.0.1:1")
	if _, err := u.Fetch(t.Context(), event.High, "1"); reasonOf(err) != API5XX || fault.Of(err) != fault.Transient {
		t.Errorf("without an upstream: %v", err)
	}
}

func TestNewBudgetRefuses(t *testing.T) {
	if _, err := NewBudget(nil, 0); err == nil {
		t.Error("a budget without a limiter was made")
	}
}

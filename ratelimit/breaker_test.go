package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

func TestFailsClosedWithinTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{} // never opens
		store := &budget{before: g.hold}
		l := limiter(t, store, ratelimit.Config{})
		var wg sync.WaitGroup
		began := time.Now()
		for i := range 20 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				d, err := l.Allow(context.Background(), ratelimit.Priority(i%2))
				if !errors.Is(err, ratelimit.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || fault.Of(err) != fault.Infrastructure {
					t.Errorf("caller %d: %v", i, err)
				}
				if d.Allowed || d.Permit != nil || d.Reason != driver.ReasonUnavailable {
					t.Errorf("caller %d: %+v", i, d)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took != 100*time.Millisecond || store.calls() != 1 {
			t.Errorf("took %s and %d calls", took, store.calls())
		}
		if s := l.Stats(); s.Rejected[0][driver.ReasonUnavailable]+s.Rejected[1][driver.ReasonUnavailable] != 20 {
			t.Errorf("rejected %v", s.Rejected)
		}
	})
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budget{}
		away := false
		store.before = func(context.Context, driver.Ask) error {
			if away {
				return errAway
			}
			return nil
		}
		var changes []string
		l := limiter(t, store, ratelimit.Config{
			Limits: ratelimit.Limits{HardLimit: 100_000, Rate: 50_000},
			OnBreaker: func(from, to ratelimit.BreakerState) {
				changes = append(changes, fmt.Sprintf("%s to %s", from, to))
			},
		})
		ctx := context.Background()
		allow := func(want bool) ratelimit.Decision {
			t.Helper()
			d, err := l.Allow(ctx, ratelimit.High)
			if d.Allowed != want || errors.Is(err, ratelimit.ErrUnavailable) == want {
				t.Fatalf("%+v, %v; want %v (%d calls)", d, err, want, store.calls())
			}
			return d
		}
		for range 10_000 {
			allow(true)
		}
		away = true
		for range 5 { // half of the last ten
			allow(false)
		}
		calls := store.calls()
		d := allow(false)
		if d.RetryAfter != 30*time.Second || store.calls() != calls || l.Stats().Breaker != "open" {
			t.Fatalf("while open: %+v, %d calls", d, store.calls()-calls)
		}
		if _, err := l.Wait(ctx, ratelimit.High); !errors.Is(err, ratelimit.ErrUnavailable) || store.calls() != calls {
			t.Fatalf("Wait while open: %v", err)
		}
		time.Sleep(30*time.Second - 1)
		allow(false)
		require.Equal(t, calls, store.calls(), "a call before its time")
		time.Sleep(2 * time.Nanosecond)
		allow(false) // the first trial fails
		if allow(false); store.calls() != calls+1 {
			t.Fatalf("%d trials", store.calls()-calls)
		}
		time.Sleep(30*time.Second + 1)
		away = false
		for range 5 {
			allow(true)
		}
		if got, want := fmt.Sprint(changes), "[closed to open open to half-open half-open to open open to half-open half-open to closed]"; got != want {
			t.Errorf("changes %s, want %s", got, want)
		}
		away = true
		for range 9 { // fewer than Calls
			allow(false)
		}
		away = false
		assert.EqualValues(t, "closed", l.Stats().Breaker, "opened after 9 calls")
	})
}

// nonsense is a store with invalid answers, which grants nothing.
type nonsense struct{ grant driver.Grant }

func (n nonsense) Acquire(context.Context, *driver.Plan, driver.Ask) (driver.Grant, error) {
	return n.grant, nil
}
func (nonsense) Return(context.Context, *driver.Plan, driver.Returned) error { return nil }

func TestNonsenseIsRefused(t *testing.T) {
	for _, runs := range [][]driver.RunGrant{nil, {{Granted: 2}}, {{Granted: -1}}, {{}}, {{Granted: 1, Reason: driver.ReasonDay}}, {{Granted: 1}, {Granted: 1}}} {
		l := limiter(t, nonsense{driver.Grant{Runs: runs}}, ratelimit.Config{})
		if d, err := l.Allow(context.Background(), ratelimit.Low); !errors.Is(err, ratelimit.ErrUnavailable) || d.Allowed {
			t.Errorf("%+v: %+v, %v", runs, d, err)
		}
	}
}

// TestPanicLeavesNobodyWaiting: a panic of the store affects its caller and no other.
func TestPanicLeavesNobodyWaiting(t *testing.T) {
	allow := func(l *ratelimit.Limiter) error {
		d, err := l.Allow(context.Background(), ratelimit.High)
		if err == nil && !d.Allowed {
			err = errors.New(string(d.Reason))
		}
		return err
	}
	wait := func(l *ratelimit.Limiter) error {
		_, err := l.Wait(context.Background(), ratelimit.High)
		return err
	}
	for name, ask := range map[string]func(*ratelimit.Limiter) error{"Allow": allow, "Wait": wait} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			store := &budget{}
			first := true
			store.before = func(context.Context, driver.Ask) error {
				if first {
					first = false
					<-release
					panic("a bug")
				}
				return nil
			}
			l := limiter(t, store, ratelimit.Config{})
			var wg sync.WaitGroup
			wg.Go(func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: the panic was lost", name)
					}
				}()
				_ = ask(l)
			})
			synctest.Wait()
			for range 3 {
				wg.Go(func() {
					assert.NoErrorf(t, ask(l), "%s, behind the panic", name)
				})
			}
			synctest.Wait()
			close(release)
			wg.Wait()
			first, release = true, make(chan struct{})
			close(release)
			func() {
				defer func() { _ = recover() }()
				_ = ask(l) // panics with no other caller there
			}()
			assert.NoErrorf(t, ask(l), "%s, after a panic", name)
			if n := l.Stats().Waiting; n != [2]int{} {
				t.Errorf("%s: %v still wait", name, n)
			}
		})
	}
}

func TestConfigIsChecked(t *testing.T) {
	if _, err := ratelimit.New(nil, ratelimit.Config{Limits: usual}); err == nil {
		t.Error("a nil store was taken")
	}
	for name, cfg := range map[string]ratelimit.Config{
		"Limits.HardLimit":      {},
		"Config.Timeout":        {Limits: usual, Timeout: -1},
		"Config.MaxWaiting":     {Limits: usual, MaxWaiting: -1},
		"Config.BreakerCalls":   {Limits: usual, BreakerCalls: 1001},
		"Config.BreakerRatio":   {Limits: usual, BreakerRatio: 1.5},
		"Config.BreakerOpenFor": {Limits: usual, BreakerOpenFor: -1},
		"Config.BreakerTrials":  {Limits: usual, BreakerTrials: -1},
	} {
		mustName(t, name, func() error { _, err := ratelimit.New(&budget{}, cfg); return err })
	}
}

package ratelimit_test

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
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// slow is a budget of ten calls per second, five of them for low.
var slow = ratelimit.Limits{HardLimit: 15, Rate: 10, LowRate: 5, Burst: 2, LowBurst: 1, Delay: time.Second / 10}

// drain takes all free calls of the budget.
func drain(t *testing.T, l *ratelimit.Limiter) {
	t.Helper()
	if d, err := l.AllowN(context.Background(), ratelimit.High, l.Plan().Burst); err != nil || !d.Allowed {
		t.Fatalf("draining: %+v, %v", d, err)
	}
}

// line has callers wait, and records the order in which they are served.
type line struct {
	l      *ratelimit.Limiter
	wg     sync.WaitGroup
	mu     sync.Mutex
	served []string
	errs   []error
}

func (q *line) join(ctx context.Context, p ratelimit.Priority, name string) {
	q.wg.Go(func() {
		permit, err := q.l.Wait(ctx, p)
		q.mu.Lock()
		defer q.mu.Unlock()
		if err != nil {
			q.errs = append(q.errs, err)
			return
		}
		if permit.Expired() || ratelimit.PriorityOf(permit) != p {
			q.errs = append(q.errs, fmt.Errorf("%s was served by %+v", name, permit))
		}
		q.served = append(q.served, name)
	})
	synctest.Wait()
}

func TestWaitIsServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budget{}
		l := limiter(t, store, ratelimit.Config{Limits: slow})
		drain(t, l)
		q := &line{l: l}
		ctx := context.Background()
		for i := range 3 {
			q.join(ctx, ratelimit.Low, fmt.Sprint("low", i))
		}
		for i := range 3 {
			q.join(ctx, ratelimit.High, fmt.Sprint("high", i))
		}
		gone, cancel := context.WithCancel(ctx)
		q.join(gone, ratelimit.High, "gone")
		for i := 3; i < 5; i++ {
			q.join(ctx, ratelimit.High, fmt.Sprint("high", i))
		}
		cancel()
		synctest.Wait()
		began := time.Now()
		q.wg.Wait()
		want := "[high0 high1 high2 high3 high4 low0 low1 low2]"
		assert.Equal(t, want, fmt.Sprint(q.served), "served")
		if len(q.errs) != 1 || !errors.Is(q.errs[0], context.Canceled) {
			t.Errorf("errors %v", q.errs)
		}
		// Eight at ten per second, of which low has at most five.
		if took := time.Since(began); took > 1100*time.Millisecond || store.taken() != [2]int{3, 7} {
			t.Errorf("took %s, taken %v", took, store.taken())
		}
		if s := l.Stats(); s.Waiting != [2]int{} || s.Acquired != [2]uint64{3, 7} {
			t.Errorf("Stats %+v", s)
		}
	})
}

func TestWaitAloneAsksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budget{}
		l := limiter(t, store, ratelimit.Config{Limits: slow})
		began := time.Now()
		permit, err := l.Wait(context.Background(), ratelimit.High)
		if err != nil || time.Since(began) != 0 || store.calls() != 1 {
			t.Fatalf("Wait = %v after %s and %d calls", err, time.Since(began), store.calls())
		}
		assert.Equal(t, l.Plan().UseFor, ratelimit.UseBy(permit).Sub(began), "the permit lasts")
	})
}

// TestWaitIsNoHerd: however many callers wait, one asks for all of them.
func TestWaitIsNoHerd(t *testing.T) {
	calls := func(waiting int) int {
		var n int
		synctest.Test(t, func(t *testing.T) {
			store := &budget{}
			l := limiter(t, store, ratelimit.Config{})
			drain(t, l)
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			var wg sync.WaitGroup
			served := 0
			var mu sync.Mutex
			for range waiting {
				wg.Go(func() {
					if _, err := l.Wait(ctx, ratelimit.High); err == nil {
						mu.Lock()
						served++
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			n = store.calls()
			if want := 450; served > want || served < want*99/100 {
				t.Errorf("%d callers: %d were served in a second of %d", waiting, served, want)
			}
		})
		return n
	}
	few, many := calls(500), calls(5000)
	// The spacing is at least 1 ms; and arriving callers ask once at most.
	if few > 1001 || many > 1001 {
		t.Errorf("500 callers made %d calls of the store, 5000 made %d", few, many)
	}
}

// TestManyProcessesUseTheWholeRate: processes that share a budget lose none of it by waiting.
func TestManyProcessesUseTheWholeRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := usual
		limits.Processes = 10
		store := &budget{}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for range 10 {
			l := limiter(t, store, ratelimit.Config{Limits: limits})
			for w := range 60 {
				wg.Go(func() {
					for {
						if _, err := l.Wait(ctx, ratelimit.Priority(w%2)); err != nil {
							return
						}
					}
				})
			}
		}
		wg.Wait()
		taken := store.taken()
		total := taken[0] + taken[1]
		if most := 450*10 + 31; total < 450*10*99/100 || total > most {
			t.Errorf("%d calls in 10 s, want 4455 to %d", total, most)
		}
		if per := float64(store.calls()) / 100; per > 500 {
			t.Errorf("%.0f calls of the store per second and process", per)
		}
	})
}

// TestHighIsServedUnderAFloodOfLow: waiting high priority gets the next free calls, under a
// flood of low in other processes.
func TestHighIsServedUnderAFloodOfLow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budget{}
		flood := limiter(t, store, ratelimit.Config{})
		l := limiter(t, store, ratelimit.Config{})
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				for ctx.Err() == nil {
					if _, err := flood.Allow(ctx, ratelimit.Low); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		time.Sleep(time.Second)
		var longest time.Duration
		for range 100 {
			began := time.Now()
			_, err := l.Wait(ctx, ratelimit.High)
			require.NoError(t, err)
			longest = max(longest, time.Since(began))
		}
		cancel()
		wg.Wait()
		if longest > 100*time.Millisecond {
			t.Errorf("high waited %s", longest)
		}
	})
}

func TestWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, &budget{}, ratelimit.Config{Limits: slow, MaxWaiting: 3})
		drain(t, l)
		q := &line{l: l}
		ctx, cancel := context.WithCancel(context.Background())
		for i := range 4 {
			q.join(ctx, ratelimit.Priority(i%2), fmt.Sprint(i))
		}
		if len(q.errs) != 1 || !errors.Is(q.errs[0], ratelimit.ErrTooManyWaiting) {
			t.Errorf("errors %v", q.errs)
		}
		cancel()
		q.wg.Wait()
	})
}

// TestAnOpenBreakerEndsWaits: an unavailable store ends all waits when the breaker opens, so
// that consumers pause.
func TestAnOpenBreakerEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		store := &budget{before: func(context.Context, driver.Ask) error {
			if away.Load() {
				return errAway
			}
			return nil
		}}
		l := limiter(t, store, ratelimit.Config{Limits: slow})
		drain(t, l)
		q := &line{l: l}
		for i := range 4 {
			q.join(context.Background(), ratelimit.Priority(i%2), fmt.Sprint(i))
		}
		away.Store(true)
		q.wg.Wait()
		if s := l.Stats(); len(q.errs) != 4 || len(q.served) != 0 || s.Breaker != "open" {
			t.Fatalf("served %v, errors %v, the breaker is %s", q.served, q.errs, s.Breaker)
		}
		// One call drained the budget, one was refused, and the breaker needs ten.
		if n := store.calls(); n > 12 {
			t.Errorf("%d calls until the waits ended", n)
		}
		for _, err := range q.errs {
			if !errors.Is(err, ratelimit.ErrUnavailable) || !errors.Is(err, errAway) || fault.Of(err) != fault.Infrastructure {
				t.Errorf("%v", err)
			}
		}
	})
}

// TestWaitLivesThroughStalls: a store that stalls for longer than the timeout ends no wait: the
// calls without an answer are repeated, their grants are not used, and the rest of the budget
// is used.
func TestWaitLivesThroughStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stall, every, run = 130 * time.Millisecond, time.Second, 20 * time.Second
		began := time.Now()
		var lost atomic.Int64
		store := &stalling{budget: &budget{}, lost: &lost, stalled: func() bool { return time.Since(began)%every < stall }}
		l := limiter(t, store, ratelimit.Config{})
		ctx, cancel := context.WithTimeout(context.Background(), run)
		defer cancel()
		var wg sync.WaitGroup
		var served atomic.Int64
		for w := range 100 {
			wg.Go(func() {
				for {
					_, err := l.Wait(ctx, ratelimit.Priority(w%2))
					switch {
					case err == nil:
						served.Add(1)
					case ctx.Err() == nil:
						t.Errorf("after %s: %v", time.Since(began), err)
						return
					default:
						return
					}
				}
			})
		}
		wg.Wait()
		taken := store.taken()
		if all := int64(taken[0] + taken[1]); served.Load()+lost.Load() > all {
			t.Errorf("%d were served and %d lost, but %d charged: somebody used a grant without an answer", served.Load(), lost.Load(), all)
		}
		if most := int64(450 * run.Seconds()); lost.Load() == 0 || served.Load() < most*3/4 {
			t.Errorf("%d were served of %d, %d lost to stalls", served.Load(), most, lost.Load())
		}
	})
}

// stalling loses the answers of calls that it gets while it is stalled.
type stalling struct {
	*budget
	stalled func() bool
	lost    *atomic.Int64
}

func (s *stalling) Acquire(ctx context.Context, plan *driver.Plan, ask driver.Ask) (driver.Grant, error) {
	g, err := s.budget.Acquire(ctx, plan, ask)
	if !s.stalled() || err != nil {
		return g, err
	}
	for i, r := range g.Runs {
		s.lost.Add(int64(r.Granted * ask.Runs[i].Size))
	}
	<-ctx.Done()
	return driver.Grant{}, ctx.Err()
}

// TestWaitEndsWithItsContextWhileTheStoreIsAway: while the store is unavailable a wait ends
// with its own context, even before the breaker opens.
func TestWaitEndsWithItsContextWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budget{before: func(ctx context.Context, _ driver.Ask) error { <-ctx.Done(); return ctx.Err() }}
		l := limiter(t, store, ratelimit.Config{BreakerCalls: 1000})
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		began := time.Now()
		q := &line{l: l}
		for i := range 4 {
			q.join(ctx, ratelimit.Priority(i%2), fmt.Sprint(i))
		}
		q.wg.Wait()
		if took := time.Since(began); len(q.errs) != 4 || took > 2100*time.Millisecond {
			t.Errorf("%d waits ended after %s: %v", len(q.errs), took, q.errs)
		}
		for _, err := range q.errs {
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ratelimit.ErrUnavailable) {
				t.Errorf("%v, want the context's own end", err)
			}
		}
	})
}

// TestGrantsThatComeTooLateEndWaits: a store whose answers take longer than a permit lasts
// would use the budget up for nothing.
func TestGrantsThatComeTooLateEndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budget{before: func(context.Context, driver.Ask) error {
			time.Sleep(30 * time.Millisecond)
			return nil
		}}
		l := limiter(t, store, ratelimit.Config{})
		_, err := l.Wait(context.Background(), ratelimit.High)
		if !errors.Is(err, ratelimit.ErrUnavailable) || store.calls() != 10 {
			t.Errorf("Wait = %v after %d calls", err, store.calls())
		}
	})
}

// TestReturnIsHadAtOnce: waiting callers get returned permits at once.
func TestReturnIsHadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := slow
		limits.Rate, limits.LowRate = 1, 1
		store := &budget{}
		l := limiter(t, store, ratelimit.Config{Limits: limits})
		ctx := context.Background()
		d, err := l.AllowN(ctx, ratelimit.High, 2)
		if err != nil || !d.Allowed {
			t.Fatalf("%+v, %v", d, err)
		}
		q := &line{l: l}
		q.join(ctx, ratelimit.Low, "low")
		began := time.Now()
		require.NoError(t, d.Permit.Return(ctx))
		q.wg.Wait()
		if took := time.Since(began); took > 3*time.Millisecond {
			t.Errorf("took %s", took)
		}
		if d, err := l.Allow(ctx, ratelimit.High); err != nil || !d.Allowed {
			t.Errorf("the other one that was given back: %+v, %v", d, err)
		}
	})
}

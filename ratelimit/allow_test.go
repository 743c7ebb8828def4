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
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// TestCombiningIsLikeComingAlone: concurrent callers of a shared call get the same answers as
// one after the other, all of high priority before all of low.
func TestCombiningIsLikeComingAlone(t *testing.T) {
	type want struct {
		p ratelimit.Priority
		n int
	}
	rapid.Check(t, func(rt *rapid.T) {
		tokens := [2]float64{float64(rapid.IntRange(0, 12).Draw(rt, "low")), float64(rapid.IntRange(0, 20).Draw(rt, "global"))}
		callers := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) want {
			return want{rapid.SampledFrom([]ratelimit.Priority{ratelimit.Low, ratelimit.High}).Draw(rt, "p"), rapid.IntRange(1, 3).Draw(rt, "n")}
		}), 1, 20).Draw(rt, "callers")
		synctest.Test(t, func(*testing.T) {
			g := &gate{open: make(chan struct{})}
			store := &budget{fixed: true, before: g.hold}
			l := limiter(t, store, ratelimit.Config{Timeout: time.Hour})
			var wg sync.WaitGroup
			decisions := make([]ratelimit.Decision, len(callers))
			ask := func(i int) {
				wg.Go(func() {
					var err error
					if decisions[i], err = l.AllowN(context.Background(), callers[i].p, callers[i].n); err != nil {
						rt.Errorf("AllowN = %v", err)
					}
				})
				synctest.Wait() // so that they queue in this order
			}
			for i := range callers {
				ask(i)
			}
			// The first makes its call alone, all others share the next.
			model := &budget{fixed: true, tokens: tokens}
			store.tokens = tokens
			close(g.open)
			wg.Wait()
			plan := l.Plan()
			for i, ask := range store.asks {
				if got, err := model.Acquire(context.Background(), &plan, alone(ask)); err != nil || len(got.Runs) == 0 {
					rt.Fatalf("the model's answer to ask %d: %v, %v", i, got, err)
				}
			}
			if len(store.asks) != min(2, len(callers)) {
				rt.Fatalf("%d callers made %d calls of the store", len(callers), len(store.asks))
			}
			var granted [2]int
			for i, d := range decisions {
				if d.Allowed {
					granted[callers[i].p] += callers[i].n
				}
				if d.Allowed != (d.Permit != nil) || d.Allowed != (d.Reason == "") {
					rt.Fatalf("decision %+v", d)
				}
			}
			if granted != model.granted || store.tokens != model.tokens {
				rt.Fatalf("granted %v with %v left; alone it would be %v with %v", granted, store.tokens, model.granted, model.tokens)
			}
			// Of equal calls of one shared ask, the earlier ones are granted.
			for i := 1; i < len(callers); i++ {
				for j := i + 1; j < len(callers); j++ {
					if callers[i] == callers[j] && decisions[j].Allowed && !decisions[i].Allowed {
						rt.Fatalf("caller %d was granted what the earlier %d was refused", j, i)
					}
				}
			}
			s := l.Stats()
			if int(s.Acquired[0]) != granted[0] || int(s.Acquired[1]) != granted[1] {
				rt.Fatalf("Stats count %v of %v", s.Acquired, granted)
			}
		})
	})
}

// alone splits runs into runs of one call.
func alone(ask driver.Ask) driver.Ask {
	var split driver.Ask
	for _, run := range ask.Runs {
		for range run.Count {
			run.Count = 1
			split.Runs = append(split.Runs, run)
		}
	}
	return split
}

func TestRunsHoldHighFirstAndEqualSizesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		store := &budget{before: g.hold}
		l := limiter(t, store, ratelimit.Config{})
		var wg sync.WaitGroup
		ask := func(p ratelimit.Priority, n int) {
			wg.Go(func() {
				_, err := l.AllowN(context.Background(), p, n)
				assert.NoError(t, err)
			})
			synctest.Wait()
		}
		ask(ratelimit.Low, 1)
		ask(ratelimit.Low, 2)
		ask(ratelimit.High, 1)
		ask(ratelimit.Low, 1)
		ask(ratelimit.High, 1)
		ask(ratelimit.Low, 2)
		close(g.open)
		wg.Wait()
		want := "[{low 1 1 false}] [{high 1 2 false} {low 2 2 false} {low 1 1 false}]"
		if got := fmt.Sprint(store.asks[0].Runs, " ", store.asks[1].Runs); got != want || store.calls() != 2 {
			t.Errorf("asked %s, want %s", got, want)
		}
	})
}

// TestDeniedFloodMakesNoCalls: a refusal costs one call of the store until its retry time,
// however many callers ask. If low has a share, it asks for itself.
func TestDeniedFloodMakesNoCalls(t *testing.T) {
	t.Run("no share", func(t *testing.T) { deniedFlood(t, new(0), 0) })
	t.Run("a share", func(t *testing.T) { deniedFlood(t, nil, 1) })
}

func deniedFlood(t *testing.T, share *int, own int) {
	synctest.Test(t, func(t *testing.T) {
		store := &budget{}
		limits := usual
		limits.LowShare = share
		l := limiter(t, store, ratelimit.Config{Limits: limits})
		ctx := context.Background()
		drained := l.Plan().Burst
		if d, err := l.AllowN(ctx, ratelimit.High, drained); err != nil || !d.Allowed {
			t.Fatalf("the whole burst: %+v, %v", d, err)
		}
		d, err := l.Allow(ctx, ratelimit.High)
		if err != nil || d.Allowed || d.Reason != driver.ReasonGlobal || d.RetryAfter <= 0 {
			t.Fatalf("one more: %+v, %v", d, err)
		}
		before := store.calls()
		end := time.Now().Add(d.RetryAfter)
		for range 10 {
			for range 1000 {
				again, err := l.Allow(ctx, ratelimit.High)
				if err != nil || again.Allowed || again.Reason != d.Reason {
					t.Fatalf("within the retry time: %+v, %v", again, err)
				}
				require.Equal(t, time.Until(end), again.RetryAfter, "RetryAfter")
			}
			// A refusal for high is also one for low, outside its share, and for larger sizes
			// too.
			if low, err := l.Allow(ctx, ratelimit.Low); err != nil || low.Allowed {
				t.Fatalf("low: %+v, %v", low, err)
			}
			if more, err := l.AllowN(ctx, ratelimit.High, 5); err != nil || more.Allowed {
				t.Fatalf("more: %+v, %v", more, err)
			}
			time.Sleep(d.RetryAfter / 11)
		}
		if before += own; store.calls() != before {
			t.Fatalf("%d calls of the store within the retry time, want %d", store.calls()-before+own, own)
		}
		time.Sleep(time.Until(end))
		if again, err := l.Allow(ctx, ratelimit.High); err != nil || !again.Allowed || store.calls() != before+1 {
			t.Fatalf("at the retry time: %+v, %v after %d calls", again, err, store.calls()-before)
		}
		if s := l.Stats(); s.Rejected[ratelimit.High][driver.ReasonGlobal] != 10*1000+1+10*5 {
			t.Errorf("rejected %v", s.Rejected)
		}
	})
}

func TestLowCapNeverDeniesHigh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budget{}
		l := limiter(t, store, ratelimit.Config{})
		ctx := context.Background()
		plan := l.Plan()
		if d, err := l.AllowN(ctx, ratelimit.Low, plan.LowBurst); err != nil || !d.Allowed {
			t.Fatalf("%+v, %v", d, err)
		}
		d, err := l.Allow(ctx, ratelimit.Low)
		if err != nil || d.Allowed || d.Reason != driver.ReasonLowCap {
			t.Fatalf("low: %+v, %v", d, err)
		}
		for range plan.Burst - plan.LowBurst {
			if d, err := l.Allow(ctx, ratelimit.High); err != nil || !d.Allowed {
				t.Fatalf("high: %+v, %v", d, err)
			}
		}
		calls := store.calls()
		if d, err = l.Allow(ctx, ratelimit.Low); err != nil || d.Allowed || d.Reason != driver.ReasonLowCap || store.calls() != calls {
			t.Fatalf("low again: %+v, %v", d, err)
		}
	})
}

func TestAllowRefusesWhatCanNeverBe(t *testing.T) {
	store := &budget{}
	l := limiter(t, store, ratelimit.Config{})
	plan := l.Plan()
	for _, tc := range []struct {
		p ratelimit.Priority
		n int
	}{{ratelimit.Low, plan.LowBurst + 1}, {ratelimit.High, plan.Burst + 1}, {ratelimit.High, 0}, {ratelimit.Low, -1}, {9, 1}} {
		_, err := l.AllowN(context.Background(), tc.p, tc.n)
		if err == nil || fault.Of(err) != fault.Permanent || errors.Is(err, ratelimit.ErrTooLarge) != (tc.n > 1) {
			t.Errorf("AllowN(%v, %d) = %v", tc.p, tc.n, err)
		}
	}
	limits := usual
	limits.DayLimit, limits.DayHighReserve = 10, 8
	l = limiter(t, store, ratelimit.Config{Limits: limits})
	for p, most := range map[ratelimit.Priority]int{ratelimit.Low: 2, ratelimit.High: 10} {
		if _, err := l.AllowN(context.Background(), p, most+1); !errors.Is(err, ratelimit.ErrTooLarge) {
			t.Errorf("%d of %d a day: %v", most+1, most, err)
		}
		_, err := l.AllowN(context.Background(), p, most)
		assert.NoError(t, err, "%d of %d a day", most, most)
	}
	assert.Equal(t, 2, store.calls(), "calls of the store")
}

// TestDayCountIsCarried: each call carries the count of the day, also after the store's clock was
// ahead and set right.
func TestDayCountIsCarried(t *testing.T) {
	store := &budget{}
	l := limiter(t, store, ratelimit.Config{})
	for range 3 {
		_, err := l.AllowN(context.Background(), ratelimit.High, 2)
		require.NoError(t, err)
	}
	if got := store.asks[2].Day.Used; got != 4 || l.Stats().DayUsed != 6 {
		t.Errorf("asked with %d used, now %d", got, l.Stats().DayUsed)
	}
	for _, store.day = range []int64{400, 1, 1} {
		_, err := l.AllowN(context.Background(), ratelimit.High, 2)
		require.NoError(t, err)
	}
	if got := store.asks[5].Day; got != (driver.DayCount{Day: 1, Used: 2}) || l.Stats().DayUsed != 4 {
		t.Errorf("after the clock was set right: asked with %+v, now %d", got, l.Stats().DayUsed)
	}
}

// TestHooks: the hooks report each decision once.
func TestHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budget{}
		var acquired, rejected [2]int
		l := limiter(t, store, ratelimit.Config{
			OnAcquired: func(p ratelimit.Priority, n int) { acquired[p] += n },
			OnRejected: func(p ratelimit.Priority, reason ratelimit.Reason, n int) { rejected[p] += n },
		})
		ctx := context.Background()
		for range 50 {
			_, err := l.AllowN(ctx, ratelimit.Low, 2)
			require.NoError(t, err)
		}
		_, err := l.Wait(ctx, ratelimit.High)
		require.NoError(t, err)
		s := l.Stats()
		if acquired[0] != int(s.Acquired[0]) || acquired[1] != 1 || acquired[0]+rejected[0] != 100 || rejected[0] != int(s.Rejected[0][driver.ReasonLowCap]) {
			t.Errorf("acquired %v, rejected %v; Stats %+v", acquired, rejected, s)
		}
		assert.Equal(t, float64(acquired[0]+1), s.RPS, "RPS")
		time.Sleep(time.Second)
		if s := l.Stats(); s.RPS != 0 {
			t.Errorf("RPS %v a second later", s.RPS)
		}
	})
}

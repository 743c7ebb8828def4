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

	"github.com/millrace-go/millrace/ratelimit"
)

// TestLeavingGivesBack: a caller that leaves before the call takes nothing; if a caller leaves
// during the call, its grant goes to the next one, or is given back.
func TestLeavingGivesBack(t *testing.T) {
	for _, follower := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := &gate{open: make(chan struct{})}
			store := &budget{before: g.hold}
			l := limiter(t, store, ratelimit.Config{Timeout: time.Hour})
			ctx, cancel := context.WithCancel(context.Background())
			var wg sync.WaitGroup
			var during, before, stays error
			wg.Go(func() { _, during = l.Allow(ctx, ratelimit.Low) })
			synctest.Wait()
			wg.Go(func() { _, before = l.Allow(ctx, ratelimit.Low) })
			synctest.Wait()
			var d ratelimit.Decision
			if follower {
				wg.Go(func() { d, stays = l.Allow(context.Background(), ratelimit.Low) })
				synctest.Wait()
			}
			cancel()
			synctest.Wait()
			require.ErrorIsf(t, before, context.Canceled, "who queued and left got %v while the call lasted", before)
			close(g.open)
			wg.Wait()
			if !errors.Is(during, context.Canceled) || stays != nil || d.Allowed != follower {
				t.Fatalf("the caller that left: %v; the one that stayed: %+v, %v", during, d, stays)
			}
			want := [2]int{}
			if follower {
				want[ratelimit.Low] = 1 // it took over, without its own call
			}
			if store.taken() != want || store.calls() != 1 {
				t.Errorf("taken %v after %d calls, want %v after 1", store.taken(), store.calls(), want)
			}
		})
	}
}

// TestLeavingAtAnyMoment: callers leave at any moment, and still the store's grants equal the
// callers' permits.
func TestLeavingAtAnyMoment(t *testing.T) {
	store := &budget{}
	// A grant that expires on its way belongs to no caller: here nothing takes a minute.
	limits := ratelimit.Limits{HardLimit: 1_000_000, Rate: 10_000, LowRate: 8_000, Delay: time.Minute}
	l := limiter(t, store, ratelimit.Config{Limits: limits, Timeout: time.Minute, BreakerCalls: 1000})
	var held [2]int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			p := ratelimit.Priority(w % 2)
			for i := range 300 {
				ctx, cancel := context.WithCancel(context.Background())
				if i%3 == 0 {
					go cancel()
				}
				var permit *ratelimit.Permit
				var err error
				if w%4 < 2 {
					permit, err = l.Wait(ctx, p)
				} else {
					var d ratelimit.Decision
					d, err = l.Allow(ctx, p)
					permit = d.Permit
				}
				cancel()
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("%v", err)
				}
				if permit != nil {
					mu.Lock()
					held[p]++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if held != store.taken() || held[0] == 0 || held[1] == 0 {
		t.Errorf("callers hold %v, the store has granted %v", held, store.taken())
	}
	if s := l.Stats(); s.Waiting != [2]int{} {
		t.Errorf("%v still wait", s.Waiting)
	}
}

func TestWaitLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := slow
		limits.Rate, limits.LowRate = 1, 1
		store := &budget{}
		l := limiter(t, store, ratelimit.Config{Limits: limits})
		drain(t, l)
		q := &line{l: l}
		first, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		// The caller that watches the time leaves; another must continue.
		q.join(first, ratelimit.Low, "first")
		q.join(context.Background(), ratelimit.Low, "second")
		began := time.Now()
		q.wg.Wait()
		if fmt.Sprint(q.served) != "[second]" || len(q.errs) != 1 || !errors.Is(q.errs[0], context.DeadlineExceeded) {
			t.Errorf("served %v, errors %v", q.served, q.errs)
		}
		if took := time.Since(began); took > 1200*time.Millisecond {
			t.Errorf("took %s", took)
		}
	})
}

// TestWaitHandsOver: a caller that leaves during the call leaves its grant to the next waiting
// one.
func TestWaitHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		store := &budget{before: g.hold}
		l := limiter(t, store, ratelimit.Config{Limits: slow, Timeout: time.Hour})
		q := &line{l: l}
		ctx, cancel := context.WithCancel(context.Background())
		q.join(ctx, ratelimit.Low, "leaves")
		q.join(context.Background(), ratelimit.Low, "stays")
		cancel()
		close(g.open)
		q.wg.Wait()
		if fmt.Sprint(q.served) != "[stays]" || store.calls() != 1 || store.taken() != [2]int{1, 0} || len(store.returned) != 0 {
			t.Errorf("served %v after %d calls; taken %v", q.served, store.calls(), store.taken())
		}
	})
}

// TestAnExpiredGrantIsHandedToNoWaitingCaller: the call took longer than a permit lasts, and the
// caller that made it has left; a waiting caller gets a permit that it can use.
func TestAnExpiredGrantIsHandedToNoWaitingCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		store := &budget{before: g.hold}
		l := limiter(t, store, ratelimit.Config{Timeout: time.Hour})
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = l.Allow(ctx, ratelimit.Low) })
		synctest.Wait()
		wg.Go(func() {
			permit, err := l.Wait(context.Background(), ratelimit.Low)
			if err == nil {
				err = permit.Use(func() error { return nil })
			}
			assert.NoError(t, err, "the waiting caller")
		})
		synctest.Wait()
		cancel()
		time.Sleep(time.Second) // by the test's clock
		close(g.open)
		wg.Wait()
	})
}

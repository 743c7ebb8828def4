package ratelimit_test

import (
	"context"
	"errors"
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

func mustAllow(t *testing.T, l *ratelimit.Limiter, n int) *ratelimit.Permit {
	t.Helper()
	d, err := l.AllowN(context.Background(), ratelimit.High, n)
	if err != nil || !d.Allowed {
		t.Fatalf("AllowN = %+v, %v", d, err)
	}
	return d.Permit
}

func TestPermitHasItsUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budget{}
		l := limiter(t, store, ratelimit.Config{})
		p := mustAllow(t, l, 3)
		broken := errors.New("broken pipe")
		assert.ErrorIs(t, p.Use(func() error { return broken }), broken, "Use =")
		assert.NoError(t, p.Use(func() error { return nil }))
		for range 2 { // the second time nothing is left
			assert.NoError(t, p.Return(context.Background()))
		}
		assert.ErrorIs(t, p.Use(func() error { t.Error("fn was called"); return nil }), ratelimit.ErrPermitUsed, "after Return")
		if len(store.returned) != 1 || store.returned[0].Size != 1 || store.taken() != [2]int{0, 2} {
			t.Errorf("returned %+v", store.returned)
		}
		if l.Stats().Returned != 1 {
			t.Errorf("Stats %+v", l.Stats())
		}
	})
}

// TestPermitExpires: the time counts from before the call of the store.
func TestPermitExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budget{before: func(context.Context, driver.Ask) error {
			time.Sleep(5 * time.Millisecond)
			return nil
		}}
		limits := usual
		limits.Transit = 3 * time.Millisecond
		l := limiter(t, store, ratelimit.Config{Limits: limits})
		began := time.Now()
		p := mustAllow(t, l, 2)
		if got := ratelimit.UseBy(p).Sub(began); got != 17*time.Millisecond || p.Expired() {
			t.Errorf("use by %s, expired %v", got, p.Expired())
		}
		time.Sleep(12*time.Millisecond - 1)
		assert.NoError(t, p.Use(func() error { return nil }), "in the last moment")
		time.Sleep(time.Nanosecond)
		if err := p.Use(func() error { t.Error("fn was called"); return nil }); !errors.Is(err, ratelimit.ErrPermitExpired) || !p.Expired() {
			t.Errorf("too late: %v", err)
		}
		if err := p.Return(context.Background()); err != nil || len(store.returned) != 0 {
			t.Errorf("Return after the end: %v, %v", err, store.returned)
		}
	})
}

// TestOneWriteAtATime: a process that is stopped during one write is late with only that one:
// all others check the time after it.
func TestOneWriteAtATime(t *testing.T) {
	limits := forgiving
	limits.Delay = time.Second // long enough to begin the first one on a slow machine
	l := limiter(t, &budget{}, ratelimit.Config{Limits: limits})
	var permits []*ratelimit.Permit
	for range 10 {
		permits = append(permits, mustAllow(t, l, 1))
	}
	last := ratelimit.UseBy(permits[9])
	inside := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := permits[0].Use(func() error {
			close(inside)
			<-time.After(time.Until(last) + time.Millisecond) // stopped here
			return nil
		})
		assert.NoError(t, err)
	})
	<-inside
	for _, p := range permits[1:] {
		wg.Go(func() {
			err := p.Use(func() error { t.Error("a second write was late"); return nil })
			assert.ErrorIs(t, err, ratelimit.ErrPermitExpired, "Use =")
		})
	}
	wg.Wait()
}

func TestReturnClearsTheDenial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budget{}
		l := limiter(t, store, ratelimit.Config{})
		ctx := context.Background()
		p := mustAllow(t, l, l.Plan().Burst)
		if d, err := l.Allow(ctx, ratelimit.High); err != nil || d.Allowed {
			t.Fatalf("%+v, %v", d, err)
		}
		// Also after its context has ended.
		ended, cancel := context.WithCancel(ctx)
		cancel()
		require.NoError(t, p.Return(ended))
		if d, err := l.Allow(ctx, ratelimit.High); err != nil || !d.Allowed {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

func TestReturnFails(t *testing.T) {
	store := &budget{failWith: errAway}
	l := limiter(t, store, ratelimit.Config{Limits: forgiving})
	err := mustAllow(t, l, 1).Return(context.Background())
	if !errors.Is(err, ratelimit.ErrUnavailable) || !errors.Is(err, errAway) || fault.Of(err) != fault.Infrastructure {
		t.Errorf("Return = %v", err)
	}
}

// TestPermitIsSharedByGoroutines: a permit can be used and given back at the same time: each of
// its uses counts once.
func TestPermitIsSharedByGoroutines(t *testing.T) {
	store := &budget{}
	l := limiter(t, store, ratelimit.Config{Limits: forgiving})
	used := 0
	for range 200 {
		p := mustAllow(t, l, 4)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := p.Use(func() error { used++; return nil }); err != nil && !errors.Is(err, ratelimit.ErrPermitUsed) {
					t.Error(err)
				}
			})
		}
		wg.Go(func() {
			assert.NoError(t, p.Return(context.Background()))
		})
		wg.Wait()
	}
	if taken := store.taken()[ratelimit.High]; taken != used {
		t.Errorf("%d uses of %d that were not given back", used, taken)
	}
}

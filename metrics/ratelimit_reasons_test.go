package metrics_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
)

// meter is a limiter whose counts a test checks.
type meter struct {
	*testing.T
	limiter *ratelimit.Limiter
}

func newMeter(t *testing.T, store driver.Store, limits ratelimit.Limits) meter {
	t.Helper()
	if store == nil {
		store = memratelimit.New()
	}
	l, err := ratelimit.New(store, ratelimit.Config{Limits: limits})
	require.NoError(t, err)
	return meter{t, l}
}

// full waits until the buckets, which begin empty, are full.
func (m meter) full() {
	_, _ = m.limiter.Allow(context.Background(), driver.High)
	time.Sleep(10 * time.Second)
}

// take takes calls until one is refused, and returns the number of granted ones.
func (m meter) take(p driver.Priority) (n int) {
	m.Helper()
	for {
		d, err := m.limiter.Allow(context.Background(), p)
		if err != nil {
			m.Fatal(err)
		}
		if !d.Allowed {
			return n
		}
		n++
	}
}

// refuses checks that one more call is counted as refused for the reason, and that no other
// count changes.
func (m meter) refuses(p driver.Priority, reason string) {
	m.Helper()
	before := rateLimitScrape(m.T, m.limiter)
	if d, err := m.limiter.Allow(context.Background(), p); d.Allowed || err != nil && reason != "unavailable" {
		m.Errorf("%s: %+v, %v; want it refused because of %s", p, d, err, reason)
	}
	after := rateLimitScrape(m.T, m.limiter)
	for _, other := range []driver.Priority{driver.Low, driver.High} {
		for _, one := range []string{"global", "low_cap", "yield", "low_share", "day", "unavailable"} {
			name, want := "millrace_rate_limiter_rejected_total "+other.String()+" "+one, 0.0
			if other == p && one == reason {
				want = 1
			}
			if got := after[name] - before[name]; got != want {
				m.Errorf("a refusal of %s because of %s moved %s by %v, want %v", p, reason, name, got, want)
			}
		}
	}
}

// rateLimitAway is an unreachable store.
type rateLimitAway struct{}

func (rateLimitAway) Acquire(context.Context, *driver.Plan, driver.Ask) (driver.Grant, error) {
	return driver.Grant{}, errors.New("connection refused")
}

func (rateLimitAway) Return(context.Context, *driver.Plan, driver.Returned) error { return nil }

var limits = ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350}

// TestRateLimitEveryReason causes a refusal of each priority for each possible reason: the cap and
// yielding concern only low priority, and its share only high.
func TestRateLimitEveryReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memratelimit.New()
		yields := limits
		yields.LowShare = new(0) // which low would not yield
		m, other := newMeter(t, store, yields), newMeter(t, store, yields)
		m.full()
		if n := m.take(driver.Low); n == 0 {
			t.Error("low was granted nothing")
		}
		m.refuses(driver.Low, "low_cap")
		time.Sleep(10 * time.Second)
		if n := m.take(driver.High); n == 0 {
			t.Error("high was granted nothing")
		}
		m.refuses(driver.High, "global")
		m.refuses(driver.Low, "global")

		// A high call of another process waits for the next free call, so low lets it go first.
		time.Sleep(10 * time.Second)
		for left := 1; left > 0; {
			d, err := m.limiter.Allow(context.Background(), driver.High)
			if err != nil || !d.Allowed {
				t.Fatalf("%+v, %v", d, err)
			}
			left = d.Remaining
		}
		waited := make(chan error, 1)
		go func() {
			_, err := other.limiter.Wait(context.Background(), driver.High)
			waited <- err
		}()
		synctest.Wait()
		m.refuses(driver.Low, "yield")
		assert.NoError(t, <-waited)
	})
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(t, nil, limits)
		time.Sleep(10 * time.Second)
		m.full()
		m.take(driver.High)
		m.refuses(driver.Low, "global")
		time.Sleep(4 * time.Millisecond) // one call is free, and is left to low
		m.refuses(driver.High, "low_share")
	})
	synctest.Test(t, func(t *testing.T) {
		daily := limits
		daily.DayLimit, daily.DayHighReserve = 10, 4
		m := newMeter(t, nil, daily)
		time.Sleep(10 * time.Second)
		m.full()
		if n := m.take(driver.Low); n != 6 {
			t.Errorf("low was granted %d of the day, want 6", n)
		}
		m.refuses(driver.Low, "day")
		if n := m.take(driver.High); n != 4 {
			t.Errorf("high was granted %d of the day, want 4", n)
		}
		m.refuses(driver.High, "day")
	})
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(t, rateLimitAway{}, limits)
		m.refuses(driver.High, "unavailable")
		m.refuses(driver.Low, "unavailable")
		for range 20 {
			_, _ = m.limiter.Allow(context.Background(), driver.High)
		}
		if got := rateLimitScrape(t, m.limiter)["millrace_rate_limiter_circuit_breaker_state"]; got != 2 {
			t.Errorf("millrace_rate_limiter_circuit_breaker_state is %v when nobody reaches the store, want 2 (open)", got)
		}
	})
}

// TestRateLimitRateAndTokens: the calls granted within the last second, and the remaining ones in both
// buckets.
func TestRateLimitRateAndTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(t, nil, limits)
		m.full()
		low := m.take(driver.Low)
		got := rateLimitScrape(t, m.limiter)
		if got["millrace_rate_limiter_acquired_total low"] != float64(low) || got["millrace_rate_limiter_rps"] != float64(low) {
			t.Errorf("millrace_rate_limiter_rps is %v after %d calls: %v", got["millrace_rate_limiter_rps"], low, got)
		}
		left := got["millrace_rate_limiter_tokens high"]
		if got["millrace_rate_limiter_tokens low"] != 0 || left == 0 {
			t.Errorf("after low took all of its share, millrace_rate_limiter_tokens is %v for low and %v for high", got["millrace_rate_limiter_tokens low"], left)
		}
		if high := m.take(driver.High); float64(high) != left {
			t.Errorf("high was granted %d with %v tokens left", high, left)
		}
		got = rateLimitScrape(t, m.limiter)
		if got["millrace_rate_limiter_acquired_total high"] != left || got["millrace_rate_limiter_tokens high"] != 0 {
			t.Errorf("when all is taken: %v", got)
		}
		time.Sleep(2 * time.Second)
		got = rateLimitScrape(t, m.limiter)
		if got["millrace_rate_limiter_rps"] != 0 || got["millrace_rate_limiter_tokens_age_seconds"] != 2 {
			t.Errorf("after two quiet seconds millrace_rate_limiter_rps is %v, and millrace_rate_limiter_tokens_age_seconds %v", got["millrace_rate_limiter_rps"], got["millrace_rate_limiter_tokens_age_seconds"])
		}
	})
}

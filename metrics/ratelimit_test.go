package metrics_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/metrics/promtest"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
)

// once grants the first call, and refuses all others for a while.
type once struct{ used bool }

func (o *once) Acquire(_ context.Context, _ *driver.Plan, ask driver.Ask) (driver.Grant, error) {
	g := driver.Grant{Remaining: [2]int{3, 7}, Day: driver.DayCount{Used: 11}}
	for range ask.Runs {
		if o.used {
			g.Runs = append(g.Runs, driver.RunGrant{Reason: driver.ReasonLowCap})
		} else {
			g.Runs = append(g.Runs, driver.RunGrant{Granted: 1})
		}
		o.used = true
	}
	return g, nil
}

func (o *once) Return(context.Context, *driver.Plan, driver.Returned) error { return nil }

// rateLimitScrape returns each series with its value, except the rate of the second.
func rateLimitScrape(t *testing.T, l *ratelimit.Limiter) map[string]float64 {
	t.Helper()
	c, err := metrics.New(l)
	require.NoError(t, err)
	return promtest.Read(t, c)
}

func rateLimitLimiter(t *testing.T, store driver.Store) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(store, ratelimit.Config{Limits: ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350}})
	require.NoError(t, err)
	return l
}

func TestRateLimitEverySeriesFromTheStart(t *testing.T) {
	synctest.Test(t, rateLimitEverySeriesFromTheStart)
}

func rateLimitEverySeriesFromTheStart(t *testing.T) {
	got := rateLimitScrape(t, rateLimitLimiter(t, &once{}))
	want := []string{"millrace_rate_limiter_rps", "millrace_rate_limiter_tokens_age_seconds", "millrace_rate_limiter_returned_total", "millrace_rate_limiter_store_calls_total", "millrace_rate_limiter_day_used", "millrace_rate_limiter_circuit_breaker_state"}
	for _, p := range []string{"low", "high"} {
		want = append(want, "millrace_rate_limiter_acquired_total "+p, "millrace_rate_limiter_tokens "+p, "millrace_rate_limiter_waiting "+p)
		for _, reason := range []string{"global", "low_cap", "yield", "low_share", "day", "unavailable"} {
			want = append(want, "millrace_rate_limiter_rejected_total "+p+" "+reason)
		}
	}
	for _, name := range want {
		if value, ok := got[name]; !ok || value != 0 {
			t.Errorf("%s is %v, there: %v", name, value, ok)
		}
	}
	assert.Len(t, got, len(want), "series")
}

func TestRateLimitCounts(t *testing.T) {
	l := rateLimitLimiter(t, &once{})
	for range 3 {
		_, err := l.Allow(context.Background(), driver.Low)
		require.NoError(t, err)
	}
	got := rateLimitScrape(t, l)
	for name, want := range map[string]float64{
		"millrace_rate_limiter_acquired_total low": 1, "millrace_rate_limiter_rejected_total low low_cap": 2, "millrace_rate_limiter_acquired_total high": 0,
		"millrace_rate_limiter_tokens low": 3, "millrace_rate_limiter_tokens high": 7, "millrace_rate_limiter_day_used": 11, "millrace_rate_limiter_store_calls_total": 3,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if _, err := metrics.New[*ratelimit.Limiter](nil); err == nil {
		t.Error("a nil limiter was taken")
	}
}

func ExampleNew_limiter() {
	store := memratelimit.New()
	limiter, err := ratelimit.New(store, ratelimit.Config{Limits: ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350}})
	if err != nil {
		panic(err)
	}
	collector, err := metrics.New(limiter)
	if err != nil {
		panic(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	fmt.Println(len(families), err)
	// Output: 10 <nil>
}

package ratelimitprom_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/promtest"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
	"github.com/millrace-go/millrace/ratelimit/ratelimitprom"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

var labels = prometheus.Labels{"limiter": "artists"}

// scrape returns each series with its value, except the rate of the second.
func scrape(t *testing.T, l *ratelimit.Limiter) map[string]float64 {
	t.Helper()
	c, err := ratelimitprom.New(l, ratelimitprom.Config{Labels: labels})
	if err != nil {
		t.Fatal(err)
	}
	return promtest.Read(t, labels, c)
}

func limiter(t *testing.T, store driver.Store) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(store, ratelimit.Config{Limits: ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestEverySeriesFromTheStart(t *testing.T) {
	synctest.Test(t, everySeriesFromTheStart)
}

func everySeriesFromTheStart(t *testing.T) {
	got := scrape(t, limiter(t, &once{}))
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
	if len(got) != len(want) {
		t.Errorf("%d series, want %d: %v", len(got), len(want), got)
	}
}

func TestCounts(t *testing.T) {
	l := limiter(t, &once{})
	for range 3 {
		if _, err := l.Allow(context.Background(), driver.Low); err != nil {
			t.Fatal(err)
		}
	}
	got := scrape(t, l)
	for name, want := range map[string]float64{
		"millrace_rate_limiter_acquired_total low": 1, "millrace_rate_limiter_rejected_total low low_cap": 2, "millrace_rate_limiter_acquired_total high": 0,
		"millrace_rate_limiter_tokens low": 3, "millrace_rate_limiter_tokens high": 7, "millrace_rate_limiter_day_used": 11, "millrace_rate_limiter_store_calls_total": 3,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if _, err := ratelimitprom.New(nil, ratelimitprom.Config{}); err == nil {
		t.Error("a nil limiter was taken")
	}
}

func ExampleNew() {
	store, err := memratelimit.New(memratelimit.Config{})
	if err != nil {
		panic(err)
	}
	limiter, err := ratelimit.New(store, ratelimit.Config{Limits: ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350}})
	if err != nil {
		panic(err)
	}
	collector, err := ratelimitprom.New(limiter, ratelimitprom.Config{Labels: prometheus.Labels{"limiter": "artists"}})
	if err != nil {
		panic(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	fmt.Println(len(families), err)
	// Output: 10 <nil>
}

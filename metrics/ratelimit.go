package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// rateLimitCollector is a [prometheus.Collector] of one limiter.
type rateLimitCollector struct {
	limiter                                              *ratelimit.Limiter
	acquired, rejected, returned, calls                  *prometheus.Desc
	rps, tokens, tokensAge, dayUsed, waiting, breakerNow *prometheus.Desc
}

var _ prometheus.Collector = (*rateLimitCollector)(nil)

func newRateLimit(limiter *ratelimit.Limiter) (prometheus.Collector, error) {
	if limiter == nil {
		return nil, errors.New("metrics: the limiter is nil; make one with ratelimit.New")
	}
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("millrace_rate_limiter_"+name, help, variable, nil)
	}
	return &rateLimitCollector{
		limiter:    limiter,
		acquired:   desc("acquired_total", "Calls granted to this process.", "priority"),
		rejected:   desc("rejected_total", "Calls refused to this process.", "priority", "reason"),
		returned:   desc("returned_total", "Calls granted to this process and given back."),
		calls:      desc("store_calls_total", "Calls of the store that keeps the budget."),
		rps:        desc("rps", "Calls granted to this process within the last second."),
		tokens:     desc("tokens", "Calls that a priority could have at once, as last seen.", "priority"),
		tokensAge:  desc("tokens_age_seconds", "How long ago that was seen; since the start when it never was."),
		dayUsed:    desc("day_used", "Calls of the day's budget that are used, as last seen."),
		waiting:    desc("waiting", "Callers of this process that wait.", "priority"),
		breakerNow: desc("circuit_breaker_state", "Circuit breaker before the store: 0 closed, 1 half-open, 2 open."),
	}, nil
}

// Describe implements [prometheus.Collector].
func (c *rateLimitCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.acquired, c.rejected, c.returned, c.calls, c.rps, c.tokens, c.tokensAge, c.dayUsed, c.waiting, c.breakerNow} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *rateLimitCollector) Collect(out chan<- prometheus.Metric) {
	s := c.limiter.Stats()
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	for _, p := range []driver.Priority{driver.Low, driver.High} {
		send(c.acquired, prometheus.CounterValue, float64(s.Acquired[p]), p.String())
		for reason, n := range s.Rejected[p] {
			send(c.rejected, prometheus.CounterValue, float64(n), p.String(), string(reason))
		}
		send(c.tokens, prometheus.GaugeValue, float64(s.Remaining[p]), p.String())
		send(c.waiting, prometheus.GaugeValue, float64(s.Waiting[p]), p.String())
	}
	send(c.returned, prometheus.CounterValue, float64(s.Returned))
	send(c.calls, prometheus.CounterValue, float64(s.StoreCalls))
	send(c.rps, prometheus.GaugeValue, s.RPS)
	send(c.tokensAge, prometheus.GaugeValue, s.Age.Seconds())
	send(c.dayUsed, prometheus.GaugeValue, float64(s.DayUsed))
	send(c.breakerNow, prometheus.GaugeValue, map[ratelimit.BreakerState]float64{"half-open": 1, "open": 2}[s.Breaker])
}

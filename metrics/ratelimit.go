package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

func newRateLimit(limiter *ratelimit.Limiter) (prometheus.Collector, error) {
	if limiter == nil {
		return nil, errors.New("metrics: the limiter is nil; make one with ratelimit.New")
	}
	c := &statsCollector[ratelimit.Stats]{prefix: "millrace_rate_limiter_", stats: limiter.Stats}
	acquired := c.desc("acquired_total", "Calls granted to this process.", "priority")
	rejected := c.desc("rejected_total", "Calls refused to this process.", "priority", "reason")
	tokens := c.desc("tokens", "Calls that a priority could have at once, as last seen.", "priority")
	waiting := c.desc("waiting", "Callers of this process that wait.", "priority")
	for _, p := range []driver.Priority{driver.Low, driver.High} {
		c.add(acquired, prometheus.CounterValue, func(s ratelimit.Stats) float64 { return float64(s.Acquired[p]) }, p.String())
		for reason := range limiter.Stats().Rejected[p] { // every reason is there
			c.add(rejected, prometheus.CounterValue, func(s ratelimit.Stats) float64 { return float64(s.Rejected[p][reason]) }, p.String(), string(reason))
		}
		c.add(tokens, prometheus.GaugeValue, func(s ratelimit.Stats) float64 { return float64(s.Remaining[p]) }, p.String())
		c.add(waiting, prometheus.GaugeValue, func(s ratelimit.Stats) float64 { return float64(s.Waiting[p]) }, p.String())
	}
	c.count("returned_total", "Calls granted to this process and given back.", func(s ratelimit.Stats) int64 { return int64(s.Returned) })
	c.count("store_calls_total", "Calls of the store that keeps the budget.", func(s ratelimit.Stats) int64 { return int64(s.StoreCalls) })
	c.gauge("rps", "Calls granted to this process within the last second.", func(s ratelimit.Stats) float64 { return s.RPS })
	c.gauge("tokens_age_seconds", "How long ago that was seen; since the start when it never was.", func(s ratelimit.Stats) float64 { return s.Age.Seconds() })
	c.gauge("day_used", "Calls of the day's budget that are used, as last seen.", func(s ratelimit.Stats) float64 { return float64(s.DayUsed) })
	c.gauge("circuit_breaker_state", "Circuit breaker before the store: 0 closed, 1 half-open, 2 open.", func(s ratelimit.Stats) float64 {
		return map[ratelimit.BreakerState]float64{"half-open": 1, "open": 2}[s.Breaker]
	})
	return c, nil
}

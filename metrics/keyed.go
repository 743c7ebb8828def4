package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/ratelimit/keyed"
)

// keyedCollector is a [prometheus.Collector] of one limiter.
type keyedCollector struct {
	limiter      *keyed.Limiter
	calls, alone *prometheus.Desc
}

var _ prometheus.Collector = (*keyedCollector)(nil)

func newKeyed(limiter *keyed.Limiter) (prometheus.Collector, error) {
	if limiter == nil {
		return nil, errors.New("metrics: the limiter is nil; make one with keyed.New")
	}
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("millrace_keyed_limiter_"+name, help, variable, nil)
	}
	return &keyedCollector{
		limiter: limiter,
		calls:   desc("calls_total", "Calls of keys that this process decided, by result.", "result"),
		alone:   desc("alone_total", "Those calls that this process decided without the shared store."),
	}, nil
}

// Describe implements [prometheus.Collector].
func (c *keyedCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.calls
	out <- c.alone
}

// Collect implements [prometheus.Collector].
func (c *keyedCollector) Collect(out chan<- prometheus.Metric) {
	s := c.limiter.Stats()
	out <- prometheus.MustNewConstMetric(c.calls, prometheus.CounterValue, float64(s.Taken), "allowed")
	out <- prometheus.MustNewConstMetric(c.calls, prometheus.CounterValue, float64(s.Refused), "refused")
	out <- prometheus.MustNewConstMetric(c.alone, prometheus.CounterValue, float64(s.Alone))
}

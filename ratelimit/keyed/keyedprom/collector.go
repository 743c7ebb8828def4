package keyedprom

import (
	"errors"
	"maps"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/ratelimit/keyed"
)

// Config configures a [Collector].
type Config struct {
	// Labels are on every series; none by default. Two limiters in one registry need a label
	// that distinguishes them.
	Labels prometheus.Labels
}

// Collector is a [prometheus.Collector] of one limiter. A scrape reads the limiter's counts in
// memory, and does not call its store.
type Collector struct {
	limiter      *keyed.Limiter
	calls, alone *prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// New creates a collector; the caller registers it.
func New(limiter *keyed.Limiter, cfg Config) (*Collector, error) {
	if limiter == nil {
		return nil, errors.New("keyedprom: the limiter is nil; make one with keyed.New")
	}
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("millrace_keyed_limiter_"+name, help, variable, maps.Clone(cfg.Labels))
	}
	return &Collector{
		limiter: limiter,
		calls:   desc("calls_total", "Calls of keys that this process decided, by result.", "result"),
		alone:   desc("alone_total", "Those calls that this process decided without the shared store."),
	}, nil
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	out <- c.calls
	out <- c.alone
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	s := c.limiter.Stats()
	out <- prometheus.MustNewConstMetric(c.calls, prometheus.CounterValue, float64(s.Taken), "allowed")
	out <- prometheus.MustNewConstMetric(c.calls, prometheus.CounterValue, float64(s.Refused), "refused")
	out <- prometheus.MustNewConstMetric(c.alone, prometheus.CounterValue, float64(s.Alone))
}

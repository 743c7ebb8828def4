package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/coalesce"
)

// coalesceCollector is a [prometheus.Collector] of one coalescer.
type coalesceCollector struct {
	coalescer *coalesce.Coalescer
	series    []coalesceSeries
}

type coalesceSeries struct {
	desc  *prometheus.Desc
	value func(s coalesce.Stats) int64
}

var _ prometheus.Collector = (*coalesceCollector)(nil)

func newCoalesce(c *coalesce.Coalescer) (prometheus.Collector, error) {
	if c == nil {
		return nil, errors.New("metrics: the coalescer is nil; make one with coalesce.New")
	}
	of := func(name, help string, value func(s coalesce.Stats) int64) coalesceSeries {
		return coalesceSeries{prometheus.NewDesc(name, help, nil, nil), value}
	}
	return &coalesceCollector{c, []coalesceSeries{
		of("millrace_coalesce_hit_total", "Requests that found a refresh under way.", func(s coalesce.Stats) int64 { return s.Coalesced }),
		of("millrace_coalesce_upgrade_total", "Requests that took over a refresh of low priority.", func(s coalesce.Stats) int64 { return s.Upgraded }),
		of("millrace_coalesce_lock_conflict_total", "Refreshes that did not hold their lock any more at their end.", func(s coalesce.Stats) int64 { return s.Conflicts }),
		of("millrace_coalesce_obsolete_total", "Events skipped because a newer version counts.", func(s coalesce.Stats) int64 { return s.Obsolete }),
	}}, nil
}

// Describe implements [prometheus.Collector].
func (c *coalesceCollector) Describe(out chan<- *prometheus.Desc) {
	for _, s := range c.series {
		out <- s.desc
	}
}

// Collect implements [prometheus.Collector].
func (c *coalesceCollector) Collect(out chan<- prometheus.Metric) {
	stats := c.coalescer.Stats()
	for _, s := range c.series {
		out <- prometheus.MustNewConstMetric(s.desc, prometheus.CounterValue, float64(s.value(stats)))
	}
}

// Package coalesceprom exports the counts of a coalescer to Prometheus.
//
//	millrace_coalesce_hit_total             requests for a key that was being refreshed already
//	millrace_coalesce_upgrade_total         requests that took over from low priority
//	millrace_coalesce_lock_conflict_total   tickets that did not hold their lock any more
//	millrace_coalesce_obsolete_total        events that a newer version made obsolete
//
//	property                                           proven by
//	every series exists from the start, at 0           TestCollector
//	the values are those of coalesce.Stats             TestCollector
//
// The counts are read at each scrape, from coalesce.Stats. Two coalescers in one registry need
// a label each: prometheus.WrapRegistererWith(prometheus.Labels{"coalescer": "artists"}, r).
package coalesceprom

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/coalesce"
)

// collector is a [prometheus.Collector] of one coalescer.
type collector struct {
	coalescer *coalesce.Coalescer
	series    []series
}

type series struct {
	desc  *prometheus.Desc
	value func(s coalesce.Stats) int64
}

var _ prometheus.Collector = (*collector)(nil)

// New creates a collector; register it.
func New(c *coalesce.Coalescer) (prometheus.Collector, error) {
	if c == nil {
		return nil, errors.New("coalesceprom: the coalescer is nil; make one with coalesce.New")
	}
	of := func(name, help string, value func(s coalesce.Stats) int64) series {
		return series{prometheus.NewDesc(name, help, nil, nil), value}
	}
	return &collector{c, []series{
		of("millrace_coalesce_hit_total", "Requests that found a refresh under way.", func(s coalesce.Stats) int64 { return s.Coalesced }),
		of("millrace_coalesce_upgrade_total", "Requests that took over a refresh of low priority.", func(s coalesce.Stats) int64 { return s.Upgraded }),
		of("millrace_coalesce_lock_conflict_total", "Refreshes that did not hold their lock any more at their end.", func(s coalesce.Stats) int64 { return s.Conflicts }),
		of("millrace_coalesce_obsolete_total", "Events skipped because a newer version counts.", func(s coalesce.Stats) int64 { return s.Obsolete }),
	}}, nil
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, s := range c.series {
		out <- s.desc
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(out chan<- prometheus.Metric) {
	stats := c.coalescer.Stats()
	for _, s := range c.series {
		out <- prometheus.MustNewConstMetric(s.desc, prometheus.CounterValue, float64(s.value(stats)))
	}
}

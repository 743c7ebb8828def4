package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/coalesce"
)

func newCoalesce(coalescer *coalesce.Coalescer) (prometheus.Collector, error) {
	if coalescer == nil {
		return nil, errors.New("metrics: the coalescer is nil; make one with coalesce.New")
	}
	c := &statsCollector[coalesce.Stats]{prefix: "millrace_coalesce_", stats: coalescer.Stats}
	c.count("hit_total", "Requests that found a refresh under way.", func(s coalesce.Stats) int64 { return s.Coalesced })
	c.count("upgrade_total", "Requests that took over a refresh of low priority.", func(s coalesce.Stats) int64 { return s.Upgraded })
	c.count("lock_conflict_total", "Refreshes that did not hold their lock any more at their end.", func(s coalesce.Stats) int64 { return s.Conflicts })
	c.count("obsolete_total", "Events skipped because a newer version counts.", func(s coalesce.Stats) int64 { return s.Obsolete })
	return c, nil
}

package metrics

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/counter"
)

func checkCounters(counters []*counter.Counter, flushers []*counter.Flusher) error {
	if len(counters)+len(flushers) == 0 {
		return errors.New("metrics: NewCounters has neither counters nor flushers; give what is to be shown")
	}
	names := map[string]bool{}
	for i, one := range counters {
		if one == nil || names[one.Stats().Name] {
			return fmt.Errorf("metrics: NewCounters: counters[%d] is nil or there twice; give each counter once", i)
		}
		names[one.Stats().Name] = true
	}
	clear(names)
	for i, one := range flushers {
		if one == nil || names[one.Stats().Counter] {
			return fmt.Errorf("metrics: NewCounters: flushers[%d] is nil or there twice; give one flusher for each counter", i)
		}
		names[one.Stats().Counter] = true
	}
	return nil
}

// countersCollector is a [prometheus.Collector] of counters and flushers.
type countersCollector struct {
	counters                                         []*counter.Counter
	flushers                                         []*counter.Flusher
	adds, rounds, batches, rows, repeated, discarded *prometheus.Desc
}

var _ prometheus.Collector = (*countersCollector)(nil)

// NewCounters creates a collector of counters and flushers. They are labelled with the names of the
// counters, which must be unique. A counter costs 2 series, a flusher 7.
func NewCounters(counters []*counter.Counter, flushers []*counter.Flusher) (prometheus.Collector, error) {
	if err := checkCounters(counters, flushers); err != nil {
		return nil, err
	}
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("millrace_counter_"+name, help, append([]string{"counter"}, variable...), nil)
	}
	return &countersCollector{
		counters:  slices.Clone(counters),
		flushers:  slices.Clone(flushers),
		adds:      desc("adds_total", "Additions by this process.", "outcome"),
		rounds:    desc("rounds_total", "Rounds of the flusher of this process.", "outcome"),
		batches:   desc("batches_total", "Transactions that brought totals up to date."),
		rows:      desc("rows_total", "Change rows, or deltas, that were applied."),
		repeated:  desc("repeated_batches_total", "Batches that lay aside and were applied already."),
		discarded: desc("discarded_deltas_total", "Deltas that were dropped because their rows are applied."),
	}, nil
}

// Describe implements [prometheus.Collector].
func (c *countersCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.adds, c.rounds, c.batches, c.rows, c.repeated, c.discarded} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *countersCollector) Collect(out chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	for _, one := range c.counters {
		s := one.Stats()
		count(c.adds, s.Added, s.Name, "ok")
		count(c.adds, s.Failed, s.Name, "failed")
	}
	for _, one := range c.flushers {
		s := one.Stats()
		name := s.Counter
		count(c.rounds, s.Rounds, name, "ok")
		count(c.rounds, s.Standby, name, "standby")
		count(c.rounds, s.Failed, name, "failed")
		count(c.batches, s.Batches, name)
		count(c.rows, s.Rows, name)
		count(c.repeated, s.Repeated, name)
		count(c.discarded, s.Discarded, name)
	}
}

package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/counter"
)

// counterCollector is a [prometheus.Collector] of one counter.
type counterCollector struct {
	counter                                          *counter.Counter
	adds, rounds, batches, rows, repeated, discarded *prometheus.Desc
}

var _ prometheus.Collector = (*counterCollector)(nil)

func newCounter(c *counter.Counter) (prometheus.Collector, error) {
	if c == nil {
		return nil, errors.New("metrics: the counter is nil; make one with counter.New")
	}
	label := prometheus.Labels{"counter": c.Stats().Name}
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("millrace_counter_"+name, help, variable, label)
	}
	return &counterCollector{
		counter:   c,
		adds:      desc("adds_total", "Additions by this process.", "outcome"),
		rounds:    desc("rounds_total", "Rounds of the flusher of this process.", "outcome"),
		batches:   desc("batches_total", "Transactions that brought totals up to date."),
		rows:      desc("rows_total", "Change rows, or deltas, that were applied."),
		repeated:  desc("repeated_batches_total", "Batches that lay aside and were applied already."),
		discarded: desc("discarded_deltas_total", "Deltas that were dropped because their rows are applied."),
	}, nil
}

// Describe implements [prometheus.Collector].
func (c *counterCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.adds, c.rounds, c.batches, c.rows, c.repeated, c.discarded} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *counterCollector) Collect(out chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	s := c.counter.Stats()
	count(c.adds, s.Added, "ok")
	count(c.adds, s.Failed, "failed")
	count(c.rounds, s.Rounds, "ok")
	count(c.rounds, s.Standby, "standby")
	count(c.rounds, s.FailedRounds, "failed")
	count(c.batches, s.Batches)
	count(c.rows, s.Rows)
	count(c.repeated, s.Repeated)
	count(c.discarded, s.Discarded)
}

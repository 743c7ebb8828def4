package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/counter"
)

func newCounter(of *counter.Counter) (prometheus.Collector, error) {
	if of == nil {
		return nil, errors.New("metrics: the counter is nil; make one with counter.New")
	}
	c := &statsCollector[counter.Stats]{
		prefix: "millrace_counter_", labels: prometheus.Labels{"counter": of.Stats().Name}, stats: of.Stats,
	}
	c.countBy("adds_total", "Additions by this process.", "outcome", map[string]func(counter.Stats) int64{
		"ok":     func(s counter.Stats) int64 { return s.Added },
		"failed": func(s counter.Stats) int64 { return s.Failed },
	})
	c.countBy("rounds_total", "Rounds of the flusher of this process.", "outcome", map[string]func(counter.Stats) int64{
		"ok":      func(s counter.Stats) int64 { return s.Rounds },
		"standby": func(s counter.Stats) int64 { return s.Standby },
		"failed":  func(s counter.Stats) int64 { return s.FailedRounds },
	})
	c.count("batches_total", "Transactions that brought totals up to date.", func(s counter.Stats) int64 { return s.Batches })
	c.count("rows_total", "Change rows, or deltas, that were applied.", func(s counter.Stats) int64 { return s.Rows })
	c.count("repeated_batches_total", "Batches that lay aside and were applied already.", func(s counter.Stats) int64 { return s.Repeated })
	c.count("discarded_deltas_total", "Deltas that were dropped because their rows are applied.", func(s counter.Stats) int64 { return s.Discarded })
	return c, nil
}

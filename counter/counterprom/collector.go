package counterprom

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/counter"
)

// Config is the configuration of [New]. At least one counter or flusher is required.
type Config struct {
	// Labels are on every series; none by default.
	Labels prometheus.Labels
	// Counters are labelled with their names, which must be unique. Each costs 2 series.
	Counters []*counter.Counter
	// Flushers are labelled with their counters' names. Each costs 7 series.
	Flushers []*counter.Flusher
}

func (c Config) validate() error {
	if len(c.Counters)+len(c.Flushers) == 0 {
		return errors.New("counterprom: Config has neither Counters nor Flushers; give what is to be shown")
	}
	names := map[string]bool{}
	for i, one := range c.Counters {
		if one == nil || names[one.Name()] {
			return fmt.Errorf("counterprom: Config.Counters[%d] is nil or there twice; give each counter once", i)
		}
		names[one.Name()] = true
	}
	clear(names)
	for i, one := range c.Flushers {
		if one == nil || names[one.Counter()] {
			return fmt.Errorf("counterprom: Config.Flushers[%d] is nil or there twice; give one flusher for each counter", i)
		}
		names[one.Counter()] = true
	}
	return nil
}

// collector is a [prometheus.Collector] of counters and flushers.
type collector struct {
	cfg                                              Config
	adds, rounds, batches, rows, repeated, discarded *prometheus.Desc
}

var _ prometheus.Collector = (*collector)(nil)

// New creates a collector; the caller registers it.
func New(cfg Config) (prometheus.Collector, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Labels, cfg.Counters, cfg.Flushers = maps.Clone(cfg.Labels), slices.Clone(cfg.Counters), slices.Clone(cfg.Flushers)
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("millrace_counter_"+name, help, append([]string{"counter"}, variable...), cfg.Labels)
	}
	return &collector{
		cfg:       cfg,
		adds:      desc("adds_total", "Additions by this process.", "outcome"),
		rounds:    desc("rounds_total", "Rounds of the flusher of this process.", "outcome"),
		batches:   desc("batches_total", "Transactions that brought totals up to date."),
		rows:      desc("rows_total", "Change rows, or deltas, that were applied."),
		repeated:  desc("repeated_batches_total", "Batches that lay aside and were applied already."),
		discarded: desc("discarded_deltas_total", "Deltas that were dropped because their rows are applied."),
	}, nil
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.adds, c.rounds, c.batches, c.rows, c.repeated, c.discarded} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(out chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	for _, one := range c.cfg.Counters {
		s := one.Stats()
		count(c.adds, s.Added, one.Name(), "ok")
		count(c.adds, s.Failed, one.Name(), "failed")
	}
	for _, one := range c.cfg.Flushers {
		s, name := one.Stats(), one.Counter()
		count(c.rounds, s.Rounds, name, "ok")
		count(c.rounds, s.Standby, name, "standby")
		count(c.rounds, s.Failed, name, "failed")
		count(c.batches, s.Batches, name)
		count(c.rows, s.Rows, name)
		count(c.repeated, s.Repeated, name)
		count(c.discarded, s.Discarded, name)
	}
}

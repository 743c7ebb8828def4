package metrics

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
)

// OutboxConfig is the configuration of [NewOutbox]. The Monitor is required.
type OutboxConfig struct {
	// Monitor reports the state of the shards. The caller runs it.
	Monitor *outbox.Monitor
	// Shards is how many shards have series from the start; 1 by default. Each costs 9 series
	// and a histogram.
	Shards int
	// Topics have their series from the start, at 0. Each costs 3 series and a
	// histogram.
	Topics []string
	// MaxTopics is how many topics have their own series; 100 by default. Events of further
	// topics are counted under the topic "other".
	MaxTopics int
	// Hooks are called as well by the hooks that NewOutbox returns; none by default.
	Hooks outbox.Hooks
	// Buckets of the histograms, in seconds; 1 ms to 5 min by default.
	Buckets []float64
}

func (c OutboxConfig) validate() error {
	switch {
	case c.Monitor == nil:
		return errors.New("metrics: OutboxConfig.Monitor is nil; make one with outbox.NewMonitor")
	case c.Shards < 0:
		return fmt.Errorf("metrics: OutboxConfig.Shards is %d; give at least 1, or 0 for 1", c.Shards)
	case c.MaxTopics < 0:
		return fmt.Errorf("metrics: OutboxConfig.MaxTopics is %d; give at least 1, or 0 for 100", c.MaxTopics)
	case !grow(c.Buckets):
		return fmt.Errorf("metrics: OutboxConfig.Buckets %v do not grow; sort them, and give each once", c.Buckets)
	}
	return nil
}

func (c OutboxConfig) withDefaults() OutboxConfig {
	c.Topics, c.Buckets = slices.Clone(c.Topics), slices.Clone(c.Buckets)
	if c.Shards == 0 {
		c.Shards = 1
	}
	if c.MaxTopics == 0 {
		c.MaxTopics = 100
	}
	if len(c.Buckets) == 0 {
		c.Buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	}
	return c
}

// outboxCollector is a [prometheus.Collector] of one outbox and of the relay with its hooks.
type outboxCollector struct {
	cfg                                                                OutboxConfig
	backlog, oldest, aside, failing, parked, taken, statsAge, snapshot *prometheus.Desc
	relay                                                              *outboxRelay
}

var _ prometheus.Collector = (*outboxCollector)(nil)

// NewOutbox creates a collector of an outbox, which the caller registers, and the hooks that count
// the work of its relay: the relay's RelayConfig.Hooks. Give them to one relay; it may run several
// times. A scrape reads known values, and does not query the database.
func NewOutbox(cfg OutboxConfig) (prometheus.Collector, outbox.Hooks, error) {
	if err := cfg.validate(); err != nil {
		return nil, outbox.Hooks{}, err
	}
	cfg = cfg.withDefaults()
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("millrace_outbox_"+name, help, variable, nil)
	}
	c := &outboxCollector{
		cfg:      cfg,
		backlog:  desc("backlog", "Events that wait to be published.", "shard"),
		oldest:   desc("oldest_age_seconds", "Age of the oldest event that waits.", "shard"),
		aside:    desc("aside", "Events that wait aside so that others pass.", "shard"),
		failing:  desc("failing", "Events that wait and have failed at least once.", "shard"),
		parked:   desc("parked", "Events that were given up and wait for an operator.", "shard"),
		taken:    desc("lease_taken", "1 while some relay holds the shard.", "shard"),
		statsAge: desc("stats_age_seconds", "How old the figures of the outbox are; it grows while the database does not answer."),
		snapshot: desc("oldest_snapshot_seconds", "Age of the oldest snapshot that a transaction or a replica keeps on the database's server; millrace doctor names its holder."),
		relay:    newOutboxRelay(cfg),
	}
	return c, c.relay.hooks(cfg.Hooks), nil
}

// Describe implements [prometheus.Collector].
func (c *outboxCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.backlog, c.oldest, c.aside, c.failing, c.parked, c.taken, c.statsAge, c.snapshot} {
		out <- d
	}
	c.relay.each(func(r prometheus.Collector) { r.Describe(out) })
}

// Collect implements [prometheus.Collector].
func (c *outboxCollector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	standing := c.cfg.Monitor.Standing()
	for _, s := range c.shown(standing.Shards) {
		shard := strconv.Itoa(s.Shard)
		age, taken := 0.0, 0.0
		if !s.Oldest.IsZero() {
			// At the time of the answer: an old answer must not look older with each scrape.
			age = max(0, standing.At.Sub(s.Oldest).Seconds())
		}
		if s.Holder != "" {
			taken = 1
		}
		gauge(c.backlog, float64(s.Backlog), shard)
		gauge(c.oldest, age, shard)
		gauge(c.aside, float64(s.Aside), shard)
		gauge(c.failing, float64(s.Failing), shard)
		gauge(c.parked, float64(s.Parked), shard)
		gauge(c.taken, taken, shard)
	}
	gauge(c.statsAge, standing.Age.Seconds())
	gauge(c.snapshot, standing.Oldest.Age.Seconds())
	c.relay.each(func(r prometheus.Collector) { r.Collect(out) })
}

// shown returns the reported shards, and the shards of the OutboxConfig without a report.
func (c *outboxCollector) shown(told []driver.ShardStats) []driver.ShardStats {
	all := slices.Clone(told)
	for i := range c.cfg.Shards {
		if !slices.ContainsFunc(told, func(s driver.ShardStats) bool { return s.Shard == i }) {
			all = append(all, driver.ShardStats{Shard: i})
		}
	}
	return all
}

package metrics

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/bus"
)

// Consumer names a group on a topic, and the topic of its dead letters.
type Consumer struct {
	Topic, Group string
	// DeadLetters is the topic of its dead letters, {Topic}.DLT when empty.
	DeadLetters string
}

// BusConfig is the configuration of [NewBus]. Bus, Lags and Consumers are required.
type BusConfig struct {
	// Bus is the bus whose publishing is counted.
	Bus *bus.Bus
	// Lags has the lag of the groups. The caller runs it.
	Lags *bus.LagMonitor
	// Consumers are exported, also those of other processes. Each costs 13 series and a
	// histogram; its topic of dead letters costs one more.
	Consumers []Consumer
	// Status returns the status of this process's consumers, a [bus.Runner]'s; nil in a process
	// without consumers.
	Status func() []bus.ConsumerStatus
	// DeadLetters counts the dead letters in a topic, and must return at once. When it is nil,
	// the lag of the group "redrive" is used, which is the same number on all transports that
	// report lag.
	DeadLetters func(topic string) int
	// Buckets of the histogram, in seconds; 1 ms to 1 min by default.
	Buckets []float64
}

func (c BusConfig) validate() error {
	switch {
	case c.Bus == nil:
		return errors.New("metrics: BusConfig.Bus is nil; open one with bus.Open")
	case c.Lags == nil:
		return errors.New("metrics: BusConfig.Lags is nil; make one with bus.NewLagMonitor")
	case len(c.Consumers) == 0:
		return errors.New("metrics: BusConfig.Consumers is empty; name the groups that are to be shown")
	case !grow(c.Buckets):
		return fmt.Errorf("metrics: BusConfig.Buckets %v do not grow; sort them, and give each once", c.Buckets)
	}
	seen := map[[2]string]bool{}
	for i, one := range c.Consumers {
		if one.Topic == "" || one.Group == "" || seen[one.id()] {
			return fmt.Errorf("metrics: BusConfig.Consumers[%d] (group %q of topic %q) is not complete or there twice; give each group of each topic once", i, one.Group, one.Topic)
		}
		seen[one.id()] = true
	}
	return nil
}

// grow reports whether each bucket is above the one before it, as Prometheus requires.
func grow(buckets []float64) bool {
	for i := 1; i < len(buckets); i++ {
		if buckets[i] <= buckets[i-1] {
			return false
		}
	}
	return true
}

func (c BusConfig) withDefaults() BusConfig {
	c.Consumers, c.Buckets = slices.Clone(c.Consumers), slices.Clone(c.Buckets)
	for i, one := range c.Consumers {
		if one.DeadLetters == "" {
			c.Consumers[i].DeadLetters = one.Topic + ".DLT"
		}
	}
	if len(c.Buckets) == 0 {
		c.Buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	}
	return c
}

func (c Consumer) id() [2]string { return [2]string{c.Topic, c.Group} }

// busCollector is a [prometheus.Collector] of a bus and its consumers.
type busCollector struct {
	cfg    BusConfig
	topics []string // of dead letters
	made   time.Time

	lag, lagSeconds, lagAge, dead, sent, failed *prometheus.Desc
	perConsumer                                 []perConsumer
	took                                        *prometheus.HistogramVec
}

var _ prometheus.Collector = (*busCollector)(nil)

// perConsumer is one series of each consumer of this process.
type perConsumer struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(bus.ConsumerStatus) int64
}

// NewBus creates a collector of a bus, which the caller registers, and the hooks that measure its
// handlers: the RunnerConfig.Hooks. A scrape reads from memory and does not query the transport.
func NewBus(cfg BusConfig) (prometheus.Collector, bus.Hooks, error) {
	if err := cfg.validate(); err != nil {
		return nil, bus.Hooks{}, err
	}
	cfg = cfg.withDefaults()
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, variable, nil)
	}
	c := &busCollector{
		cfg: cfg, made: time.Now(),
		lag:        desc("millrace_consumer_lag", "Messages that wait for a consumer group.", "topic", "group"),
		lagSeconds: desc("millrace_consumer_lag_seconds", "Age of the oldest message that waits for a consumer group; 0 where the transport does not know it.", "topic", "group"),
		lagAge:     desc("millrace_consumer_lag_age_seconds", "How old the figures of the transport are; it grows while the transport does not answer, from the start if it never did."),
		dead:       desc("millrace_dead_letters", "Dead letters that nobody has redriven or dropped.", "topic"),
		sent:       desc("millrace_bus_published_total", "Messages published by this process."),
		failed:     desc("millrace_bus_publish_failed_total", "Messages that this process could not publish."),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "millrace_consumer_handler_duration_seconds", Help: "Runs of a handler, of one message or of one batch.",
			Buckets: cfg.Buckets,
		}, []string{"topic", "group"}),
	}
	of := func(kind prometheus.ValueType, name, help string, read func(bus.ConsumerStatus) int64) {
		c.perConsumer = append(c.perConsumer, perConsumer{desc("millrace_consumer_"+name, help, "topic", "group"), kind, read})
	}
	of(prometheus.CounterValue, "handled_total", "Messages handled by this process.", func(s bus.ConsumerStatus) int64 { return s.Handled })
	of(prometheus.CounterValue, "retried_total", "Attempts that failed and were or will be repeated.", func(s bus.ConsumerStatus) int64 { return s.Retried })
	of(prometheus.CounterValue, "dead_lettered_total", "Dead letters published by this process.", func(s bus.ConsumerStatus) int64 { return s.DeadLettered })
	of(prometheus.CounterValue, "obsolete_total", "Messages skipped because a newer one counts.", func(s bus.ConsumerStatus) int64 { return s.Obsolete })
	of(prometheus.CounterValue, "ignored_total", "Messages skipped because their type has no handler.", func(s bus.ConsumerStatus) int64 { return s.Ignored })
	of(prometheus.CounterValue, "batches_total", "Batches handed over.", func(s bus.ConsumerStatus) int64 { return s.Batches })
	of(prometheus.CounterValue, "pauses_total", "Times a consumer paused because a dependency was down.", func(s bus.ConsumerStatus) int64 { return s.Pauses })
	of(prometheus.GaugeValue, "paused", "1 while a consumer is paused because a dependency is down.", pausedNow)
	of(prometheus.GaugeValue, "in_flight", "Messages that are being handled.", func(s bus.ConsumerStatus) int64 { return int64(s.InFlight) })
	of(prometheus.GaugeValue, "overdue", "Handlers that go on though their Timeout ended 5 s ago or earlier.", func(s bus.ConsumerStatus) int64 { return int64(s.Overdue) })
	of(prometheus.GaugeValue, "overdue_seconds", "Since the oldest overdue handler began; 0 when there is none.", func(s bus.ConsumerStatus) int64 { return int64(s.OldestOverdue.Seconds()) })
	for _, one := range cfg.Consumers {
		c.took.WithLabelValues(one.Topic, one.Group)
		if !slices.Contains(c.topics, one.DeadLetters) {
			c.topics = append(c.topics, one.DeadLetters)
		}
	}
	return c, bus.Hooks{OnHandled: func(h bus.Report) {
		c.took.WithLabelValues(h.Topic, h.Group).Observe(h.Took.Seconds())
	}}, nil
}

func pausedNow(s bus.ConsumerStatus) int64 {
	if s.Paused {
		return 1
	}
	return 0
}

// Describe implements [prometheus.Collector].
func (c *busCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.lag, c.lagSeconds, c.lagAge, c.dead, c.sent, c.failed} {
		out <- d
	}
	for _, p := range c.perConsumer {
		out <- p.desc
	}
	c.took.Describe(out)
}

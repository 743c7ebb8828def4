package ops

import (
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/outbox"
)

// exported are the metrics of an Ops for Prometheus.
type exported struct {
	monitor *outbox.Monitor
	outbox  *metrics.OutboxCollector
	bus     *metrics.BusCollector
}

func (o *Ops) newMetrics(log *slog.Logger) (m exported, err error) {
	if m.monitor, err = outbox.NewMonitor(o.cfg.Outbox, outbox.MonitorConfig{Every: o.cfg.Every, Logger: log}); err != nil {
		return m, err
	}
	var consumers []metrics.Consumer
	var topics []string
	for _, c := range o.cfg.Consumers {
		consumers = append(consumers, metrics.Consumer{Topic: c.Topic, Group: c.Group, DeadLetters: c.DeadLetters})
		// Requests of consumers apart from the books bypass the outbox.
		if !c.Apart && !slices.Contains(topics, c.Topic) {
			topics = append(topics, c.Topic)
		}
	}
	if m.outbox, err = metrics.NewOutbox(metrics.OutboxConfig{Monitor: m.monitor, Topics: topics}); err != nil {
		return m, err
	}
	m.bus, err = metrics.NewBus(metrics.BusConfig{
		Bus: o.cfg.Bus, Lags: o.lags, Consumers: consumers, Status: o.cfg.Status, DeadLetters: o.buried,
	})
	return m, err
}

// buried is the number of letters in a topic, by the last look.
func (o *Ops) buried(topic string) int {
	for _, d := range o.recentDead(o.lags.Snapshot()) {
		if d.Topic == topic {
			return d.Count
		}
	}
	return 0
}

// Hooks measure the consumers of this process; the Runner's.
func (o *Ops) Hooks() bus.Hooks { return o.metrics.bus.Hooks() }

// RelayHooks are the relay's hooks, which count the work of this process's relay.
func (o *Ops) RelayHooks() outbox.Hooks {
	return o.metrics.outbox.Hooks(outbox.Hooks{Published: o.cfg.Published.one})
}

// Collectors have the state of everything, for Prometheus. Every series is there from
// the start, at 0, except the lag on a transport that does not know it. A scrape
// waits for neither the database nor the transport.
func (o *Ops) Collectors() []prometheus.Collector {
	all := []prometheus.Collector{o.metrics.outbox, o.metrics.bus}
	if o.cfg.Executor != nil {
		all = append(all, payments{o})
	}
	return all
}

var (
	callsDesc    = prometheus.NewDesc("payment_calls_in_flight", "Calls to the payment gateway under way.", nil, nil)
	paymentsDesc = prometheus.NewDesc("payments_total", "What attempts at payments came to.", []string{"outcome"}, nil)
)

// payments collects the figures of this process's executor.
type payments struct{ ops *Ops }

// Describe implements prometheus.Collector.
func (p payments) Describe(out chan<- *prometheus.Desc) {
	out <- callsDesc
	out <- paymentsDesc
}

// Collect implements prometheus.Collector.
func (p payments) Collect(out chan<- prometheus.Metric) {
	e := p.ops.cfg.Executor()
	out <- prometheus.MustNewConstMetric(callsDesc, prometheus.GaugeValue, float64(e.InFlight))
	for outcome, n := range map[string]int64{
		"approved": e.Approved, "declined": e.Declined, "refunded": e.Refunded, "postponed": e.Postponed,
	} {
		out <- prometheus.MustNewConstMetric(paymentsDesc, prometheus.CounterValue, float64(n), outcome)
	}
}

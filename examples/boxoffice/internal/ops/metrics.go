package ops

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/outbox"
)

// Metrics have the state of the office for Prometheus.
type Metrics struct {
	monitor   *outbox.Monitor
	outbox    prometheus.Collector
	relay     outbox.Hooks
	bus       prometheus.Collector
	consumers bus.Hooks
	executor  func() payment.ExecutorStatus // nil in a process without one
}

func newMetrics(cfg Config, lags *bus.LagMonitor, letters *Letters) (*Metrics, error) {
	m := &Metrics{executor: cfg.Executor}
	var err error
	if m.monitor, err = outbox.NewMonitor(cfg.Outbox, outbox.MonitorConfig{Every: cfg.Every, Logger: cfg.Logger}); err != nil {
		return nil, err
	}
	var consumers []metrics.Consumer
	var topics []string
	for _, c := range cfg.Consumers {
		consumers = append(consumers, metrics.Consumer{Topic: c.Topic, Group: c.Group, DeadLetters: c.DeadLetters})
		// Requests of consumers apart from the books bypass the outbox.
		if !c.Apart && !slices.Contains(topics, c.Topic) {
			topics = append(topics, c.Topic)
		}
	}
	if m.outbox, m.relay, err = metrics.NewOutbox(metrics.OutboxConfig{
		Monitor: m.monitor, Topics: topics, Hooks: outbox.Hooks{Published: cfg.Published.one},
	}); err != nil {
		return nil, err
	}
	m.bus, m.consumers, err = metrics.NewBus(metrics.BusConfig{
		Bus: cfg.Bus, Lags: lags, Consumers: consumers, Status: cfg.Status, DeadLetters: letters.buried,
	})
	return m, err
}

// Hooks measure the consumers of this process; the Runner's.
func (m *Metrics) Hooks() bus.Hooks { return m.consumers }

// RelayHooks are the relay's hooks, which count the work of this process's relay.
func (m *Metrics) RelayHooks() outbox.Hooks { return m.relay }

// Collectors have the state of everything, for Prometheus. Every series is there from
// the start, at 0, except the lag on a transport that does not know it. A scrape
// waits for neither the database nor the transport.
func (m *Metrics) Collectors() []prometheus.Collector {
	all := []prometheus.Collector{m.outbox, m.bus}
	if m.executor != nil {
		all = append(all, payments{m.executor})
	}
	return all
}

var (
	callsDesc    = prometheus.NewDesc("payment_calls_in_flight", "Calls to the payment gateway under way.", nil, nil)
	paymentsDesc = prometheus.NewDesc("payments_total", "What attempts at payments came to.", []string{"outcome"}, nil)
)

// payments collects the figures of this process's executor.
type payments struct{ executor func() payment.ExecutorStatus }

// Describe implements prometheus.Collector.
func (p payments) Describe(out chan<- *prometheus.Desc) {
	out <- callsDesc
	out <- paymentsDesc
}

// Collect implements prometheus.Collector.
func (p payments) Collect(out chan<- prometheus.Metric) {
	e := p.executor()
	out <- prometheus.MustNewConstMetric(callsDesc, prometheus.GaugeValue, float64(e.InFlight))
	for outcome, n := range map[string]int64{
		"approved": e.Approved, "declined": e.Declined, "refunded": e.Refunded, "postponed": e.Postponed,
	} {
		out <- prometheus.MustNewConstMetric(paymentsDesc, prometheus.CounterValue, float64(n), outcome)
	}
}

package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
)

// Collect implements [prometheus.Collector].
func (c *busCollector) Collect(out chan<- prometheus.Metric) {
	c.collectTransport(out)
	stats := c.cfg.Bus.Stats()
	out <- prometheus.MustNewConstMetric(c.sent, prometheus.CounterValue, float64(stats.Published))
	out <- prometheus.MustNewConstMetric(c.failed, prometheus.CounterValue, float64(stats.Failed))
	running := map[[2]string]bus.ConsumerStatus{}
	if c.cfg.Status != nil {
		for _, s := range c.cfg.Status() {
			running[[2]string{s.Topic, s.Group}] = s
		}
	}
	for _, one := range c.cfg.Consumers {
		for _, p := range c.perConsumer {
			out <- prometheus.MustNewConstMetric(p.desc, p.kind, float64(p.read(running[one.id()])), one.Topic, one.Group)
		}
	}
	c.took.Collect(out)
}

// collectTransport exports the last answer of the transport.
func (c *busCollector) collectTransport(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	seen := c.cfg.Lags.Snapshot()
	blind := errors.Is(seen.Err, errors.ErrUnsupported)
	for _, topic := range c.topics {
		switch {
		case c.cfg.DeadLetters != nil:
			gauge(c.dead, float64(c.cfg.DeadLetters(topic)), topic)
		case !blind:
			gauge(c.dead, float64(lagOf(seen, topic, driver.RedriveGroup).Messages), topic)
		}
	}
	if blind {
		return
	}
	age := time.Since(c.made)
	if seen.Known {
		age = seen.Age
	}
	gauge(c.lagAge, age.Seconds())
	answered := time.Now().Add(-age)
	for _, one := range c.cfg.Consumers {
		lag := lagOf(seen, one.Topic, one.Group)
		old := 0.0
		if lag.Messages > 0 && !lag.Oldest.IsZero() {
			// As of the answer: an age is not extrapolated after it.
			old = max(0, answered.Sub(lag.Oldest).Seconds())
		}
		gauge(c.lag, float64(lag.Messages), one.Topic, one.Group)
		gauge(c.lagSeconds, old, one.Topic, one.Group)
	}
}

// lagOf sums the lag of a group, which a transport may report in parts.
func lagOf(seen bus.LagSnapshot, topic, group string) (sum bus.Lag) {
	for _, l := range seen.Lags {
		if l.Topic != topic || l.Group != group {
			continue
		}
		sum.Messages += l.Messages
		if sum.Oldest.IsZero() || !l.Oldest.IsZero() && l.Oldest.Before(sum.Oldest) {
			sum.Oldest = l.Oldest
		}
	}
	return sum
}

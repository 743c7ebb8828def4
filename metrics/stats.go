package metrics

import "github.com/prometheus/client_golang/prometheus"

// statsCollector is a [prometheus.Collector] of a part that counts in memory. A scrape reads the
// part's Stats once, so all its series are of one moment.
type statsCollector[Stats any] struct {
	prefix string // of the names
	labels prometheus.Labels
	stats  func() Stats
	series []statsSeries[Stats]
}

// statsSeries is one series, and how it is read.
type statsSeries[Stats any] struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	labels []string // the values
	read   func(Stats) float64
}

// Describe implements [prometheus.Collector].
func (c *statsCollector[Stats]) Describe(out chan<- *prometheus.Desc) {
	for _, s := range c.series {
		out <- s.desc
	}
}

// Collect implements [prometheus.Collector].
func (c *statsCollector[Stats]) Collect(out chan<- prometheus.Metric) {
	stats := c.stats()
	for _, s := range c.series {
		out <- prometheus.MustNewConstMetric(s.desc, s.kind, s.read(stats), s.labels...)
	}
}

// desc describes the series of a name, which differ by the values of the labels.
func (c *statsCollector[Stats]) desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(c.prefix+name, help, labels, c.labels)
}

func (c *statsCollector[Stats]) add(desc *prometheus.Desc, kind prometheus.ValueType, read func(Stats) float64, labels ...string) {
	c.series = append(c.series, statsSeries[Stats]{desc, kind, labels, read})
}

func (c *statsCollector[Stats]) gauge(name, help string, read func(Stats) float64) {
	c.add(c.desc(name, help), prometheus.GaugeValue, read)
}

func (c *statsCollector[Stats]) count(name, help string, read func(Stats) int64) {
	c.add(c.desc(name, help), prometheus.CounterValue, floats(read))
}

// countBy adds a series for each value of a label.
func (c *statsCollector[Stats]) countBy(name, help, label string, reads map[string]func(Stats) int64) {
	desc := c.desc(name, help, label)
	for value, read := range reads {
		c.add(desc, prometheus.CounterValue, floats(read), value)
	}
}

func floats[Stats any](read func(Stats) int64) func(Stats) float64 {
	return func(s Stats) float64 { return float64(read(s)) }
}

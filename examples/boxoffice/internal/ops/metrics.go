package ops

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Requests is a prometheus.Collector that counts HTTP requests by route, method and status, and how long they took:
// live streams and WebSockets until their answer began, since they go on for as long as
// the page is open.
type Requests struct {
	counts *prometheus.CounterVec
	times  *prometheus.HistogramVec
}

// NewRequests makes the counts, at 0.
func NewRequests() *Requests {
	return &Requests{
		counts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "http_requests_total", Help: "Requests by route, method and status.",
		}, []string{"route", "method", "code"}),
		times: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "http_request_duration_seconds", Help: "How long requests took, by route; streams and sockets until they began.", Buckets: prometheus.DefBuckets,
		}, []string{"route"}),
	}
}

// Describe implements prometheus.Collector.
func (r *Requests) Describe(ch chan<- *prometheus.Desc) {
	r.counts.Describe(ch)
	r.times.Describe(ch)
}

// Collect implements prometheus.Collector.
func (r *Requests) Collect(ch chan<- prometheus.Metric) {
	r.counts.Collect(ch)
	r.times.Collect(ch)
}

// Observe counts one request, which took so long. The route is a pattern, never a path, so that
// the number of series is bounded.
func (r *Requests) Observe(route, method string, status int, took time.Duration) {
	if route == "" {
		route = "other"
	}
	r.counts.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	r.times.WithLabelValues(route).Observe(took.Seconds())
}

// Metrics serves how everything stands, for Prometheus. Every series is there
// from the start, at 0; that of the lag is not over a transport that cannot
// tell. A scrape never waits for the transport.
func (o *Ops) Metrics(requests *Requests) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A registry for each scrape lets the scrape's context reach the database.
		registry := prometheus.NewRegistry()
		registry.MustRegister(requests, &standing{ops: o, ctx: r.Context()})
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	})
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	backlogDesc   = desc("outbox_backlog", "Events that wait to be published.")
	ageDesc       = desc("outbox_oldest_age_seconds", "Age of the oldest event that waits.")
	parkedDesc    = desc("outbox_parked", "Events that were given up.")
	publishedDesc = desc("outbox_published_total", "Events published by this process.")
	lagDesc       = desc("kafka_consumer_lag", "Messages that wait for a consumer group, on whichever transport.", "topic", "group")
	lagAgeDesc    = desc("kafka_consumer_lag_age_seconds", "How old the figures of kafka_consumer_lag are; it grows while the transport does not answer, from the start of the process if it never did.")
	deadDesc      = desc("dlq_message_count", "Dead letters that nobody has redriven or dropped.", "topic")
	callsDesc     = desc("payment_calls_in_flight", "Calls to the payment gateway under way.")
	paymentsDesc  = desc("payments_total", "What attempts at payments came to.", "outcome")
)

// perConsumer are the counters of this process's consumers.
var perConsumer = []struct {
	desc  *prometheus.Desc
	value func(consumerReport) int64
}{
	{desc("consumer_handled_total", "Messages handled by this process.", "topic", "group"), func(c consumerReport) int64 { return c.Handled }},
	{desc("consumer_duplicates_total", "Messages skipped because they had been handled before.", "topic", "group"), func(c consumerReport) int64 { return c.Duplicates }},
	{desc("consumer_retried_total", "Attempts that failed and were repeated.", "topic", "group"), func(c consumerReport) int64 { return c.Retried }},
	{desc("consumer_dead_lettered_total", "Dead letters published by this process.", "topic", "group"), func(c consumerReport) int64 { return c.DeadLettered }},
}

// standing collects what the tables and this process say at one moment.
type standing struct {
	ops *Ops
	ctx context.Context // of the scrape, which the collector does not outlive
}

// Describe implements prometheus.Collector. Sending nothing makes the collector
// unchecked: which series there are depends on the roles of the process.
func (s *standing) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (s *standing) Collect(out chan<- prometheus.Metric) {
	f, err := s.ops.recentFlow(s.ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(backlogDesc, err)
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	age := 0.0
	if !f.oldest.IsZero() {
		age = max(0, time.Since(f.oldest).Seconds())
	}
	gauge(backlogDesc, float64(f.backlog))
	gauge(ageDesc, age)
	gauge(parkedDesc, float64(f.parked))
	counter(publishedDesc, s.ops.cfg.Published.Own())
	for _, c := range s.ops.consumers(f) {
		switch {
		case c.Lag != nil:
			gauge(lagDesc, float64(*c.Lag), c.Topic, c.Group)
		case f.lagState.State == lagUnknown: // each series is there from the start
			gauge(lagDesc, 0, c.Topic, c.Group)
		}
		for _, m := range perConsumer {
			counter(m.desc, m.value(c), c.Topic, c.Group)
		}
	}
	if f.lagState.State != lagUnsupported {
		old := time.Since(s.ops.made).Seconds()
		if f.lagState.AgeSeconds != nil {
			old = *f.lagState.AgeSeconds
		}
		gauge(lagAgeDesc, old)
	}
	for _, d := range f.dead {
		gauge(deadDesc, float64(d.Count), d.Topic)
	}
	if s.ops.cfg.Executor != nil {
		e := s.ops.cfg.Executor()
		gauge(callsDesc, float64(e.InFlight))
		counter(paymentsDesc, e.Approved, "approved")
		counter(paymentsDesc, e.Declined, "declined")
		counter(paymentsDesc, e.Refunded, "refunded")
		counter(paymentsDesc, e.Postponed, "postponed")
	}
}

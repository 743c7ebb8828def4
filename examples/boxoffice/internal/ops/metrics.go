package ops

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// buckets of the request histogram, in seconds.
var buckets = [...]float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// Requests counts HTTP requests by route, method and status, and how long they
// took. The zero value is ready.
type Requests struct {
	mu     sync.Mutex
	counts map[[3]string]int64
	times  map[string]*histogram
}

type histogram struct {
	counts [len(buckets)]int64
	sum    float64
	n      int64
}

// Observe counts one request. The route is a pattern, never a path, so that
// the number of series is bounded.
func (r *Requests) Observe(route, method string, status int, took time.Duration) {
	if route == "" {
		route = "other"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts, r.times = map[[3]string]int64{}, map[string]*histogram{}
	}
	r.counts[[3]string{route, method, strconv.Itoa(status)}]++
	h := r.times[route]
	if h == nil {
		h = &histogram{}
		r.times[route] = h
	}
	s := took.Seconds()
	h.n++
	h.sum += s
	for i, le := range buckets {
		if s <= le {
			h.counts[i]++
		}
	}
}

// page is a page of metrics in the Prometheus text format.
type page struct{ bytes.Buffer }

func (p *page) head(name, kind, help string) {
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (p *page) gauge(name, help string, v float64) {
	p.head(name, "gauge", help)
	fmt.Fprintf(p, "%s %v\n", name, v)
}

// Metrics serves how everything stands, in the Prometheus text format. Every
// series is there from the start, at 0.
func (o *Ops) Metrics(requests *Requests) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p page
		if err := o.metrics(r.Context(), &p); err != nil {
			http.Error(w, "the metrics could not be read", http.StatusServiceUnavailable)
			return
		}
		requests.write(&p)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(p.Bytes()) // the scraper may be gone
	})
}

func (o *Ops) metrics(ctx context.Context, p *page) error {
	f, err := o.flow(ctx)
	if err != nil {
		return err
	}
	p.gauge("outbox_backlog", "Events that wait to be published.", float64(f.backlog))
	age := 0.0
	if !f.oldest.IsZero() {
		age = max(0, time.Since(f.oldest).Seconds())
	}
	p.gauge("outbox_oldest_age_seconds", "Age of the oldest event that waits.", age)
	p.gauge("outbox_parked", "Events that were given up.", float64(f.parked))
	p.head("outbox_published_total", "counter", "Events published by this process.")
	fmt.Fprintf(p, "outbox_published_total %d\n", o.cfg.Published.Load())

	consumers := o.consumers(f)
	p.head("kafka_consumer_lag", "gauge", "Messages that wait for a consumer group, on whichever transport.")
	for _, c := range consumers {
		if c.Lag != nil {
			fmt.Fprintf(p, "kafka_consumer_lag{topic=%q,group=%q} %d\n", c.Topic, c.Group, *c.Lag)
		}
	}
	for _, m := range []struct {
		name, help string
		value      func(consumerReport) int64
	}{
		{"consumer_handled_total", "Messages handled by this process.", func(c consumerReport) int64 { return c.Handled }},
		{"consumer_duplicates_total", "Messages skipped because they had been handled before.", func(c consumerReport) int64 { return c.Duplicates }},
		{"consumer_retried_total", "Attempts that failed and were repeated.", func(c consumerReport) int64 { return c.Retried }},
		{"consumer_dead_lettered_total", "Dead letters published by this process.", func(c consumerReport) int64 { return c.DeadLettered }},
	} {
		p.head(m.name, "counter", m.help)
		for _, c := range consumers {
			fmt.Fprintf(p, "%s{topic=%q,group=%q} %d\n", m.name, c.Topic, c.Group, m.value(c))
		}
	}
	p.head("dlq_message_count", "gauge", "Dead letters kept, counted up to 1000.")
	for _, d := range f.dead {
		fmt.Fprintf(p, "dlq_message_count{topic=%q} %d\n", d.Topic, d.Count)
	}
	if o.cfg.Executor != nil {
		s := o.cfg.Executor()
		p.gauge("payment_calls_in_flight", "Calls to the payment gateway under way.", float64(s.InFlight))
		p.head("payments_total", "counter", "What attempts at payments came to.")
		for _, x := range []struct {
			outcome string
			n       int64
		}{{"approved", s.Approved}, {"declined", s.Declined}, {"refunded", s.Refunded}, {"postponed", s.Postponed}} {
			fmt.Fprintf(p, "payments_total{outcome=%q} %d\n", x.outcome, x.n)
		}
	}
	return nil
}

func (r *Requests) write(p *page) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.head("http_requests_total", "counter", "Requests by route, method and status.")
	keys := make([][3]string, 0, len(r.counts))
	for k := range r.counts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [3]string) int { return slices.Compare(a[:], b[:]) })
	for _, k := range keys {
		fmt.Fprintf(p, "http_requests_total{route=%q,method=%q,code=%q} %d\n", k[0], k[1], k[2], r.counts[k])
	}
	p.head("http_request_duration_seconds", "histogram", "How long requests took, by route.")
	routes := make([]string, 0, len(r.times))
	for route := range r.times {
		routes = append(routes, route)
	}
	slices.Sort(routes)
	for _, route := range routes {
		h := r.times[route]
		for i, le := range buckets {
			fmt.Fprintf(p, "http_request_duration_seconds_bucket{route=%q,le=\"%v\"} %d\n", route, le, h.counts[i])
		}
		fmt.Fprintf(p, "http_request_duration_seconds_bucket{route=%q,le=\"+Inf\"} %d\n", route, h.n)
		fmt.Fprintf(p, "http_request_duration_seconds_sum{route=%q} %v\nhttp_request_duration_seconds_count{route=%q} %d\n", route, h.sum, route, h.n)
	}
}

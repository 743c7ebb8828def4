package ops

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Requests is a prometheus.Collector that counts HTTP requests by route, method and status, and
// measures their duration: of live streams and WebSockets until their answer began, since they last
// as long as the page is open.
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

// Observe counts one request and its duration. The number of series is bounded: the route is a
// pattern, never a path, and a method that HTTP does not name is "other".
func (r *Requests) Observe(route, method string, status int, took time.Duration) {
	if route == "" {
		route = "other"
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
	default:
		method = "other"
	}
	r.counts.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	r.times.WithLabelValues(route).Observe(took.Seconds())
}

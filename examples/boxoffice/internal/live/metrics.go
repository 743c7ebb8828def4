package live

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/metrics"
)

// The outcomes of tickets.
const (
	issued   = "issued"
	firstUse = "first"    // used for the first time
	returned = "returned" // used again by the tab that it is of
	refused  = "refused"
	unknown  = "unknown" // the store was away
)

func newOutcomes() *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "stream_tickets_total", Help: "What became of tickets for streams.",
	}, []string{"outcome"})
	for _, outcome := range []string{issued, firstUse, returned, refused, unknown} {
		v.WithLabelValues(outcome)
	}
	return v
}

// The kinds of live_latency_seconds: two events of the streams, and the messages of
// an open room.
var kinds = [...]string{"notification", "chat", room}

const room = "room"

func newLatency() *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "live_latency_seconds", Help: "Time from the commit of an event until it was written to a browser's connection.",
		Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2, 3, 5, 10, 30, 60},
	}, []string{"kind"})
	for _, kind := range kinds {
		v.WithLabelValues(kind)
	}
	return v
}

// delivered measures how late the hub wrote an event. Other names than the kinds are not
// measured.
func (l *Live) delivered(event string, after time.Duration) {
	if event != room && slices.Contains(kinds[:], event) {
		l.latency.WithLabelValues(event).Observe(after.Seconds())
	}
}

// RoomDelivered measures how late a message of an open room was.
func (l *Live) RoomDelivered(after time.Duration) {
	l.latency.WithLabelValues(room).Observe(after.Seconds())
}

// Collectors are the metrics of the hub, the tickets and the latency. Every series is there
// from the start. In a process that does not Run, millrace_sse_leased stays 0.
func (l *Live) Collectors() ([]prometheus.Collector, error) {
	hub, err := metrics.New(l.hub)
	if err != nil {
		return nil, err
	}
	return []prometheus.Collector{hub, l.outcomes, l.latency}, nil
}

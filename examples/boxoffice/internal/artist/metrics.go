package artist

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/event"
)

// Stats has the figures of this process's part of the mirror. Counters start at zero
// with the process.
type Stats struct {
	Asked, Refused  int64 // refreshes that reads had asked for; that could not be
	Waiting         int   // reads whose refresh has yet to be asked for
	Deferred        int64 // refreshes written to the database, to be asked for from there
	Dropped         int64 // reads whose refresh is not asked for: the database takes none
	Away            bool  // the last one was refused
	Unchanged       int64 // artists that were checked and had not changed
	Changed         int64 // artists that were written again
	Missing         int64 // artists that the upstream does not have
	Superseded      int64 // results that came after a newer one
	Obsolete        int64 // requests skipped because of a newer one
	Unsettled       int64 // locks of the coalescer that were left to expire
	Unarchived      int64 // snapshots read from the archive
	Unreadable      int64 // snapshots that could not be read
	PrefetchAsked   int64 // refreshes that prefetch asked for
	PrefetchSkipped int64 // its rounds that were cut short because low is behind
	Archived        int64 // snapshots moved to an archive tier
	Remembered      int64 // changes that were written to the history
	Expired         int64 // changes that were deleted from it
	Errors          map[string]int64
}

// metrics counts. Every series is there from the start.
type metrics struct {
	mu    sync.Mutex
	stats Stats // without what asks knows

	process *prometheus.HistogramVec
	upserts prometheus.Histogram
}

func newMetrics() *metrics {
	m := &metrics{
		stats: Stats{Errors: map[string]int64{}},
		process: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "update_process_duration_seconds", Help: "From when a worker took a request until its result was written, by priority.",
			Buckets: []float64{.02, .05, .1, .2, .5, 1, 2, 3, 5, 10, 30},
		}, []string{"priority"}),
		upserts: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "db_upsert_duration_seconds", Help: "Writes of a batch of artists.",
			Buckets: []float64{.002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10},
		}),
	}
	for _, r := range reasons {
		m.stats.Errors[r] = 0
	}
	for _, p := range []event.Priority{event.High, event.Low} {
		m.process.WithLabelValues(label(p))
	}
	return m
}

func label(p event.Priority) string {
	if p == event.High {
		return "high"
	}
	return "low"
}

// count has add change the counts.
func (m *metrics) count(add func(s *Stats)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	add(&m.stats)
}

func (m *metrics) failed(reason string, n int) {
	m.count(func(s *Stats) { s.Errors[reason] += int64(n) })
}

func (m *metrics) processed(p event.Priority, took time.Duration, n int) {
	o := m.process.WithLabelValues(label(p))
	for range n {
		o.Observe(took.Seconds())
	}
}

func (m *metrics) wrote(took time.Duration, n written, err error) {
	m.upserts.Observe(took.Seconds())
	if err != nil {
		return
	}
	m.count(func(s *Stats) {
		s.Unchanged += n.unchanged
		s.Changed += n.changed
		s.Remembered += n.remembered
		s.Missing += n.missing
		s.Superseded += n.superseded
	})
}

// Stats returns the counts.
func (m *Mirror) Stats() Stats {
	m.metrics.mu.Lock()
	s := m.metrics.stats
	s.Errors = maps.Clone(s.Errors)
	m.metrics.mu.Unlock()
	s.Waiting, s.Dropped, s.Away = m.asks.standing()
	return s
}

var (
	errorsDesc   = prometheus.NewDesc("update_process_error_total", "Failed attempts at a refresh, by reason.", []string{"reason"}, nil)
	breakerDesc  = prometheus.NewDesc("db_circuit_breaker_state", "The breaker before the database: 0 closed, 1 half-open, 2 open.", nil, nil)
	resultsDesc  = prometheus.NewDesc("artist_refresh_total", "Refreshes by what came of them.", []string{"result"}, nil)
	asksDesc     = prometheus.NewDesc("artist_ask_total", "Refreshes that reads wanted, by what came of asking.", []string{"result"}, nil)
	waitingDesc  = prometheus.NewDesc("artist_ask_waiting", "Reads whose refresh has yet to be asked for.", nil, nil)
	prefetchDesc = prometheus.NewDesc("artist_prefetch_total", "Refreshes that prefetch asked for.", nil, nil)
	historyDesc  = prometheus.NewDesc("artist_history_total", "Changes of snapshots that were kept, and those that were deleted when their time was over.", []string{"result"}, nil)
	archiveDesc  = prometheus.NewDesc("artist_archived_total", "Snapshots moved to an archive tier.", nil, nil)
)

// Collector is the mirror's metrics for a prometheus.Registerer; w is nil in a
// process without workers. The coalescer reports its own counters.
func (m *Mirror) Collector(w *Worker) prometheus.Collector { return &collector{m, w} }

type collector struct {
	m *Mirror
	w *Worker
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	c.m.metrics.process.Describe(out)
	c.m.metrics.upserts.Describe(out)
	for _, d := range []*prometheus.Desc{errorsDesc, breakerDesc, resultsDesc, asksDesc, waitingDesc, prefetchDesc, historyDesc, archiveDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.m.Stats()
	c.m.metrics.process.Collect(out)
	c.m.metrics.upserts.Collect(out)
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, n int) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n))
	}
	for reason, n := range s.Errors {
		count(errorsDesc, n, reason)
	}
	count(resultsDesc, s.Unchanged, "unchanged")
	count(resultsDesc, s.Changed, "changed")
	count(resultsDesc, s.Missing, "missing")
	count(resultsDesc, s.Superseded, "superseded")
	count(asksDesc, s.Asked, "asked")
	count(asksDesc, s.Refused, "refused")
	count(asksDesc, s.Deferred, "deferred")
	count(asksDesc, s.Dropped, "dropped")
	count(prefetchDesc, s.PrefetchAsked)
	count(archiveDesc, s.Archived)
	count(historyDesc, s.Remembered, "kept")
	count(historyDesc, s.Expired, "expired")
	gauge(waitingDesc, s.Waiting)
	state := 0
	if c.w != nil {
		state = c.w.guard.state()
	}
	gauge(breakerDesc, state)
}

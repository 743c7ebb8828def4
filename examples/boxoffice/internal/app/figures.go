package app

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/millrace-go/millrace/coalesce/coalesceprom"
	"github.com/millrace-go/millrace/idempotency/idempotencyprom"
	"github.com/millrace-go/millrace/queue/queueprom"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/ratelimitprom"
)

// metrics serves everything to Prometheus, from one registry. A scrape reads values in
// memory: it waits for neither the database, nor the transport, nor Redis.
func (a *App) metrics() (http.Handler, error) {
	all, err := a.collectors()
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	for _, c := range all {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return promhttp.HandlerFor(specified{registry}, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelError),
		// A few scrapers at a time; further requests are told to retry.
		MaxRequestsInFlight: 8,
	}), nil
}

// collectors are all metrics of this process. Every series is there from the start.
func (a *App) collectors() ([]prometheus.Collector, error) {
	all := append(a.ops.Collectors(), a.requests, a.commands.took,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	guards, err := idempotencyprom.New(idempotencyprom.Config{Guards: slices.Collect(maps.Values(a.guards))})
	if err != nil {
		return nil, err
	}
	counts, err := a.social.Collector()
	if err != nil {
		return nil, err
	}
	room, err := a.waitingCollectors()
	if err != nil {
		return nil, err
	}
	streams, err := a.liveCollectors()
	if err != nil {
		return nil, err
	}
	mirror, err := a.artistCollectors()
	return slices.Concat(all, []prometheus.Collector{guards, counts}, room, streams, a.inboxCollectors(), a.chatCollectors(), mirror), err
}

// artistCollectors are the collectors of the mirror.
func (a *App) artistCollectors() ([]prometheus.Collector, error) {
	m := a.artists
	if m == nil {
		return nil, nil
	}
	locks, err := coalesceprom.New(m.coalescer)
	if err != nil {
		return nil, err
	}
	all := []prometheus.Collector{
		m.mirror.Collector(m.worker), locks,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "redis_circuit_breaker_state", Help: "The breakers before Redis, the worse of them: 0 closed, 1 half-open, 2 open.",
		}, m.redisBreaker),
	}
	if m.limiter == nil {
		return all, nil
	}
	limiter, err := ratelimitprom.New(m.limiter, ratelimitprom.Config{})
	return append(all, limiter), err
}

// redisBreaker is the worse state of the breakers before Redis: that of the locks, and
// in a process with workers that of the limiter.
func (m *artists) redisBreaker() float64 {
	state := breakerState[m.coalescer.Stats().Breaker]
	if m.limiter != nil {
		state = max(state, m.limiter.Stats().Breaker)
	}
	return float64(state)
}

var breakerState = map[string]ratelimit.BreakerState{
	"closed": ratelimit.BreakerClosed, "half-open": ratelimit.BreakerHalfOpen, "open": ratelimit.BreakerOpen,
}

// waitingCollectors are the collectors of the waiting room.
func (a *App) waitingCollectors() ([]prometheus.Collector, error) {
	w := a.waiting
	if w == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	shows, err := a.catalog.Shows(ctx)
	if err != nil {
		return nil, err
	}
	cfg := queueprom.Config{}
	for _, show := range shows {
		cfg.Events = append(cfg.Events, show.ID)
	}
	if w.notices != nil {
		cfg.Notices = w.notices
	}
	room, err := queueprom.New(w.room, cfg)
	if err != nil {
		return nil, err
	}
	return []prometheus.Collector{room}, nil
}

package app

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/millrace-go/millrace/coalesce/coalesceprom"
	"github.com/millrace-go/millrace/queue/queueprom"
	"github.com/millrace-go/millrace/ratelimit/ratelimitprom"
)

// metrics serves everything to Prometheus: what package ops knows of the office,
// and then what the mirror
// and the waiting room count.
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
	office, mirror := a.ops.Metrics(a.requests), promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The classic text, uncompressed, is the format of which two parts are a whole.
		r = r.Clone(r.Context())
		r.Header.Del("Accept")
		r.Header.Del("Accept-Encoding")
		office.ServeHTTP(w, r)
		mirror.ServeHTTP(w, r)
	}), nil
}

// collectors are the metrics of what package ops does not know. Every series is
// there from the start.
func (a *App) collectors() ([]prometheus.Collector, error) {
	all, err := a.waitingCollectors()
	if err != nil {
		return nil, err
	}
	streams, err := a.liveCollectors()
	all = slices.Concat(all, streams, a.inboxCollectors(), a.chatCollectors())
	m := a.artists
	if m == nil || err != nil {
		return all, err
	}
	locks, err := coalesceprom.New(m.coalescer)
	if err != nil {
		return nil, err
	}
	all = append(all,
		m.mirror.Collector(m.worker), locks,
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "kafka_producer_send_failed_total", Help: "Refreshes of artists that could not be published, on whichever transport.",
		}, func() float64 { return float64(m.publisher.failed.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "redis_circuit_breaker_state", Help: "The breaker before Redis: 0 closed, 1 half-open, 2 open.",
		}, func() float64 { return breakerState[m.coalescer.Stats().Breaker] }),
	)
	if m.limiter != nil {
		limiter, err := ratelimitprom.New(m.limiter, ratelimitprom.Config{})
		if err != nil {
			return nil, err
		}
		all = append(all, limiter)
	}
	return all, nil
}

// waitingCollectors are those of the waiting room.
func (a *App) waitingCollectors() ([]prometheus.Collector, error) {
	all := []prometheus.Collector{a.commands.took}
	w := a.waiting
	if w == nil {
		return all, nil
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
	return append(all, room), nil
}

var breakerState = map[string]float64{"closed": 0, "half-open": 1, "open": 2}

// publisher counts what could not be published.
type publisher struct {
	message.Publisher
	failed atomic.Int64
}

// Publish implements message.Publisher.
func (p *publisher) Publish(topic string, messages ...*message.Message) error {
	err := p.Publisher.Publish(topic, messages...)
	if err != nil {
		p.failed.Add(int64(len(messages)))
	}
	return err
}

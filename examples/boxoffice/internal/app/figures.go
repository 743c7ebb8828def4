package app

import (
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/metrics"
)

// metricsHandler serves everything to Prometheus, from one registry. A scrape reads values in
// memory: it waits for neither the database, nor the transport, nor Redis.
func metricsHandler(all []prometheus.Collector, log *slog.Logger) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	for _, c := range all {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return promhttp.HandlerFor(specified{registry}, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError),
		// A few scrapers at a time; further requests are told to retry.
		MaxRequestsInFlight: 8,
	}), nil
}

// collectors are the metrics of the parts. Every series is there from the start.
func (o *office) collectors() ([]prometheus.Collector, error) {
	guards, err := metrics.NewIdempotency(metrics.IdempotencyConfig{Guards: slices.Collect(maps.Values(o.consumers.guards))})
	if err != nil {
		return nil, err
	}
	counts, err := o.social.Collector()
	if err != nil {
		return nil, err
	}
	all := append(o.operator.Collectors(), guards, counts, o.commands.took,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if o.cfg.Has(config.RoleWorker) {
		all = append(all, o.news.inbox.Collector())
	}
	for _, of := range []func() ([]prometheus.Collector, error){o.waiting.collectors, o.news.collectors, o.artists.collectors} {
		more, err := of()
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

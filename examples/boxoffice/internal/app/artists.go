package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist/archive"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/meter"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/ratelimit"
)

// artists is the artist mirror, as far as this process has a part in it.
type artists struct {
	coalescer *coalesce.Coalescer
	meter     *meter.Meter
	mirror    *artist.Mirror
	// The following are nil in a process without workers.
	limiter  *ratelimit.Limiter
	worker   *artist.Worker
	prefetch *artist.Prefetch
	archiver *artist.Archiver
}

// limits are the limits of the artists' API, and the part of them that is used. Most
// of the delay is for a process that the system suspends between a grant and its
// write, the rest for a network or an upstream that is briefly slow.
func limits(workers int) ratelimit.Limits {
	return ratelimit.Limits{
		HardLimit: 500, Rate: 450, LowRate: 350,
		Delay: 60 * time.Millisecond, Transit: 15 * time.Millisecond,
		Processes: workers,
		DayLimit:  20_000_000, DayHighReserve: 2_000_000,
	}
}

// mirrors reports whether a process has a part in the mirror.
func mirrors(cfg config.Config) bool {
	return cfg.Mirrors() && (cfg.Has(config.RoleAPI) || cfg.Has(config.RoleWorker))
}

// newArtists makes the parts of the mirror that processes share. It is nil in a process
// without the mirror.
func newArtists(b *base) (m *artists, err error) {
	if !mirrors(b.cfg) {
		return nil, nil
	}
	shared, err := openShared(b)
	if err != nil {
		return nil, err
	}
	m = &artists{}
	if m.coalescer, err = coalesce.New(shared.locks, coalesce.Config{
		OnBreaker: func(from, to string) {
			b.log.Warn("the breaker before the locks of the artists changed", "from", from, "to", to)
		},
	}); err != nil {
		return nil, err
	}
	if m.meter, err = meter.New(shared.calls, meter.Config{Logger: b.log}); err != nil {
		return nil, err
	}
	if b.cfg.Has(config.RoleWorker) {
		m.limiter, err = ratelimit.New(shared.permits, ratelimit.Config{
			Limits: limits(b.cfg.Workers), Logger: b.log,
			// Workers can wait; a machine or a Redis under load is no outage.
			Timeout: redisTimeout / 2,
		})
		if err != nil {
			return nil, fmt.Errorf("BOXOFFICE_WORKERS (--workers): %w", err)
		}
	}
	return m, nil
}

// connect makes the mirror. api is where the artists come from, and lags knows how much
// work waits.
func (m *artists) connect(b *base, api string, lags *bus.LagMonitor) error {
	if m == nil {
		return nil
	}
	objects, err := archive.Open(context.Background(), b.cfg.ArchiveURL)
	if err != nil {
		return fmt.Errorf("BOXOFFICE_ARCHIVE_URL (--archive-url): %w", err)
	}
	if o, ok := objects.(io.Closer); ok {
		b.opened.add(o.Close)
	}
	publisher, err := b.traced(b.bus.Publisher())
	if err != nil {
		return err
	}
	if b.opt.WrapArtists != nil {
		publisher = b.opt.WrapArtists(publisher)
	}
	if m.mirror, err = artist.New(b.store, m.coalescer, publisher, artist.Config{
		HighLag: artist.Lag(lags, artist.TopicHigh, artist.GroupHigh), Archive: objects, Holder: b.holder, Logger: b.log,
	}); err != nil {
		return err
	}
	if m.limiter == nil {
		return nil
	}
	budget, err := artist.NewBudget(m.limiter, 0)
	if err != nil {
		return err
	}
	b.opened.add(func() error { budget.Close(); return nil })
	client, err := artist.NewUpstream(artist.UpstreamConfig{
		URL: api, Instance: b.holder, Logger: b.log,
		Transport: func(p event.Priority) http.RoundTripper {
			return counted{next: budget.Transport(p), count: func() { m.meter.Count(priorityOf(p), 1) }}
		},
	})
	if err != nil {
		return err
	}
	if m.worker, err = artist.NewWorker(m.mirror, client, artist.WorkerConfig{}); err != nil {
		return err
	}
	ahead := b.opt.Prefetch
	ahead.Holder, ahead.LowLag, ahead.Logger = b.holder, artist.Lag(lags, artist.TopicLow, artist.GroupLow), b.log
	if m.prefetch, err = artist.NewPrefetch(m.mirror, ahead); err != nil {
		return err
	}
	m.archiver, err = artist.NewArchiver(m.mirror, artist.ArchiverConfig{Holder: b.holder, Logger: b.log})
	return err
}

// groups of the mirror, as the operator knows them.
var (
	highWorker = ops.Consumer{Topic: artist.TopicHigh, Group: artist.GroupHigh, DeadLetters: artist.DeadLetters, Apart: true}
	lowWorker  = ops.Consumer{Topic: artist.TopicLow, Group: artist.GroupLow, DeadLetters: artist.DeadLetters, Apart: true}
)

// operated adds the mirror to the operator's reports.
func (m *artists) operated(cfg *ops.Config, workers int) {
	if m == nil {
		return
	}
	cfg.Budget = &ops.BudgetConfig{
		Limits: limits(workers), Coalescer: m.coalescer, Calls: m.meter.Series, High: highWorker, Low: lowWorker,
	}
	if m.limiter != nil {
		cfg.Budget.Limiter = m.limiter
		cfg.Budget.Database = func() string { return m.worker.Breaker() }
	}
}

func priorityOf(p event.Priority) ratelimit.Priority {
	if p == event.High {
		return ratelimit.High
	}
	return ratelimit.Low
}

// collectors are the metrics of the mirror.
func (m *artists) collectors() ([]prometheus.Collector, error) {
	if m == nil {
		return nil, nil
	}
	locks, err := metrics.New(m.coalescer)
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
	limiter, err := metrics.New(m.limiter)
	return append(all, limiter), err
}

// redisBreaker is the worse state of the breakers before Redis: that of the locks, and
// in a process with workers that of the limiter.
func (m *artists) redisBreaker() float64 {
	state := breakerState[m.coalescer.Stats().Breaker]
	if m.limiter != nil {
		state = max(state, breakerState[string(m.limiter.Stats().Breaker)])
	}
	return state
}

var breakerState = map[string]float64{"closed": 0, "half-open": 1, "open": 2}

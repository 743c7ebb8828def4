package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist/archive"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/meter"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/upstream"
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
		Day:       ratelimit.DayLimit{Limit: 20_000_000, HighReserve: 2_000_000},
	}
}

// mirrors reports whether this process has a part in the mirror.
func (a *App) mirrors() bool {
	return a.cfg.Mirrors() && (a.cfg.Has(config.RoleAPI) || a.cfg.Has(config.RoleWorker))
}

// buildBudget makes the parts of the mirror that processes share.
func (a *App) buildBudget() (err error) {
	if !a.mirrors() {
		return nil
	}
	m := &artists{}
	if m.coalescer, err = coalesce.New(a.shared.locks, coalesce.Config{Hooks: coalesce.Hooks{
		Breaker: func(from, to string) {
			a.log.Warn("the breaker before the locks of the artists changed", "from", from, "to", to)
		},
	}}); err != nil {
		return err
	}
	if m.meter, err = meter.New(a.shared.calls, meter.Config{Logger: a.log}); err != nil {
		return err
	}
	if a.cfg.Has(config.RoleWorker) {
		m.limiter, err = ratelimit.New(a.shared.permits, ratelimit.Config{
			Limits: limits(a.cfg.Workers), Logger: a.log,
			// Workers can wait; a machine or a Redis under load is no outage.
			Timeout: redisTimeout / 2,
		})
		if err != nil {
			return fmt.Errorf("BOXOFFICE_WORKERS (--workers): %w", err)
		}
	}
	a.artists = m
	return nil
}

// buildArtists makes the mirror. api is where the artists come from.
func (a *App) buildArtists(api string, opened *closers) error {
	m := a.artists
	if m == nil {
		return nil
	}
	objects, err := archive.Open(context.Background(), a.cfg.ArchiveURL)
	if err != nil {
		return fmt.Errorf("BOXOFFICE_ARCHIVE_URL (--archive-url): %w", err)
	}
	if o, ok := objects.(io.Closer); ok {
		opened.add(o.Close)
	}
	publisher, err := a.traced(a.bus.Publisher())
	if err != nil {
		return err
	}
	if a.opt.WrapArtists != nil {
		publisher = a.opt.WrapArtists(publisher)
	}
	if m.mirror, err = artist.New(a.store, m.coalescer, publisher, artist.Config{
		HighLag: artist.Lag(a.ops.Lags(), artist.TopicHigh, artist.GroupHigh), Archive: objects, Holder: a.holder, Logger: a.log,
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
	opened.add(func() error { budget.Close(); return nil })
	client, err := artist.NewUpstream(artist.UpstreamConfig{
		URL: api, Instance: a.holder, Logger: a.log,
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
	ahead := a.opt.Prefetch
	ahead.Holder, ahead.LowLag, ahead.Logger = a.holder, artist.Lag(a.ops.Lags(), artist.TopicLow, artist.GroupLow), a.log
	if m.prefetch, err = artist.NewPrefetch(m.mirror, ahead); err != nil {
		return err
	}
	m.archiver, err = artist.NewArchiver(m.mirror, artist.ArchiverConfig{Holder: a.holder, Logger: a.log})
	return err
}

// startArtists starts the mirror's background parts. Reads start after them and end
// before them; the runner has the consumers.
func (a *App) startArtists(run *stages) {
	m := a.artists
	if m == nil {
		return
	}
	run.start("meter", m.meter.Run)
	run.start("artists", m.mirror.Run)
}

// startArtistSingletons starts the jobs that request refreshes by themselves, so that
// they end before the consumers.
func (a *App) startArtistSingletons(run *stages) {
	m := a.artists
	if m == nil || m.worker == nil {
		return
	}
	run.start("prefetch", m.prefetch.Run)
	run.start("archiver", m.archiver.Run)
}

// groups of the mirror, as the operator knows them.
var (
	highWorker = ops.Consumer{Topic: artist.TopicHigh, Group: artist.GroupHigh, DeadLetters: artist.DeadLetters, Apart: true}
	lowWorker  = ops.Consumer{Topic: artist.TopicLow, Group: artist.GroupLow, DeadLetters: artist.DeadLetters, Apart: true}
)

// operatedArtists adds the mirror to the operator's reports.
func (a *App) operatedArtists(cfg *ops.Config) {
	if !a.cfg.Mirrors() {
		return
	}
	cfg.Consumers = append(cfg.Consumers, highWorker, lowWorker)
	m := a.artists
	if m == nil {
		return
	}
	cfg.Budget = &ops.BudgetConfig{
		Limits: limits(a.cfg.Workers), Coalescer: m.coalescer, Calls: m.meter.Series, High: highWorker, Low: lowWorker,
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

// startUpstream runs the simulated API of the artists on a loopback port of its
// own, unless another one is configured, and returns the URL.
func (a *App) startUpstream(run *stages) (url string, err error) {
	if a.cfg.UpstreamURL != "" || !a.mirrors() || !a.cfg.Has(config.RoleWorker) {
		return a.cfg.UpstreamURL, nil
	}
	cfg := a.opt.Upstream
	if cfg.LogCalls == 0 {
		cfg.LogCalls = 100_000 // some minutes of it, in 2.4 MB
	}
	u, err := upstream.New(cfg)
	if err != nil {
		return "", err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("the simulated artist API found no port: %w", err)
	}
	run.start("artist API", func(ctx context.Context) error { return u.Serve(ctx, ln) })
	return "http://" + ln.Addr().String(), nil
}

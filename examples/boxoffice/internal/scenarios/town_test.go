package scenarios

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
)

var quiet = slog.New(slog.DiscardHandler)

// The budget, as the box office has it.
const (
	hardLimit = 500
	rate      = 450
	lowRate   = 350
)

// setup has a scenario's changes to a town.
type setup struct {
	latency   time.Duration // of the upstream
	mirror    artist.Config
	worker    artist.WorkerConfig
	publisher func(message.Publisher) message.Publisher
}

// town is the mirror with all its servers, in a bubble.
type town struct {
	box       *boxtest.Box
	bus       *bus.Bus
	coalescer *coalesce.Coalescer
	limits    ratelimit.Limits
	limiter   *ratelimit.Limiter
	api       *upstream.Upstream
	mirror    *artist.Mirror
	worker    *artist.Worker
	lag       *bus.LagMonitor

	closeBudget func() // of the connections to the upstream
}

// bubble runs a scenario in virtual time.
func bubble(t *testing.T, s setup, run func(t *testing.T, w *town)) {
	t.Helper()
	path := freshFile(t)
	synctest.Test(t, func(t *testing.T) { run(t, newTown(t, "sqlite://"+path, s)) })
}

func newTown(t *testing.T, url string, s setup) *town {
	t.Helper()
	w := &town{box: boxtest.Open(t, url)}
	var err error
	if w.bus, err = bus.Open(t.Context(), "mem://", membus.Scheme()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, "close the bus", w.bus.Close()) })
	check(t, "declare topics", w.bus.Declare(t.Context(), artist.Topics()...))
	if w.coalescer, err = coalesce.New(memcoalesce.New(), coalesce.Config{}); err != nil {
		t.Fatal(err)
	}
	permits := memratelimit.New()
	w.limits = ratelimit.Limits{HardLimit: hardLimit, Rate: rate, LowRate: lowRate}
	if w.limiter, err = ratelimit.New(permits, ratelimit.Config{Limits: w.limits, Logger: quiet}); err != nil {
		t.Fatal(err)
	}
	if w.lag, err = bus.NewLagMonitor(w.bus, bus.LagMonitorConfig{Every: 100 * time.Millisecond, Logger: quiet}); err != nil {
		t.Fatal(err)
	}
	start(t, "lag monitor", w.lag.Run)
	publisher := w.bus.Publisher()
	if s.publisher != nil {
		publisher = s.publisher(publisher)
	}
	s.mirror.Logger = quiet
	if s.mirror.HighLag == nil {
		s.mirror.HighLag = artist.Lag(w.lag, artist.TopicHigh, artist.GroupHigh)
	}
	if w.mirror, err = artist.New(w.box.Store, w.coalescer, publisher, s.mirror); err != nil {
		t.Fatal(err)
	}
	client, err := artist.NewUpstream(artist.UpstreamConfig{URL: "http://artists", Transport: w.serve(t, s.latency), Logger: quiet})
	require.NoError(t, err)
	if w.worker, err = artist.NewWorker(w.mirror, client, s.worker); err != nil {
		t.Fatal(err)
	}
	start(t, "mirror", w.mirror.Run)
	return w
}

// serve starts the upstream behind pipes, and returns how to call it out of the
// budget.
func (w *town) serve(t *testing.T, latency time.Duration) func(event.Priority) http.RoundTripper {
	t.Helper()
	began := time.Now()
	var err error
	if w.api, err = upstream.New(upstream.Config{
		BodyBytes: 2000, Limit: hardLimit, Latency: latency,
		Clock: func() time.Duration { return time.Hour + time.Since(began) },
	}); err != nil {
		t.Fatal(err)
	}
	door := boxtest.NewPipes()
	start(t, "upstream", func(ctx context.Context) error { return w.api.Serve(ctx, door) })
	of := func(p ratelimit.Priority) http.RoundTripper {
		transport, err := ratelimit.NewTransport(w.limiter, ratelimit.TransportConfig{
			Base:     &http.Transport{DialContext: door.Dial, MaxIdleConns: 512, MaxIdleConnsPerHost: 512, ResponseHeaderTimeout: time.Minute},
			Priority: func(*http.Request) ratelimit.Priority { return p },
			Logger:   quiet,
		})
		require.NoError(t, err)
		t.Cleanup((&http.Client{Transport: transport}).CloseIdleConnections)
		return transport
	}
	high, low := of(ratelimit.High), of(ratelimit.Low)
	return func(p event.Priority) http.RoundTripper {
		if p == event.High {
			return high
		}
		return low
	}
}

// plan is the limiter's.
func (w *town) plan(t *testing.T) *driver.Plan {
	t.Helper()
	plan, err := w.limits.Plan()
	require.NoError(t, err)
	return plan
}

// works runs the workers until the test's end.
func (w *town) works(t *testing.T) *bus.Runner {
	t.Helper()
	r, err := bus.NewRunner(w.bus, bus.RunnerConfig{Logger: quiet})
	require.NoError(t, err)
	check(t, "add the workers", r.Add(w.worker.Pair(w.lag)))
	start(t, "workers", r.Run)
	<-r.Running()
	return r
}

// prefetches runs prefetch until the test's end.
func (w *town) prefetches(t *testing.T, perSecond int) {
	t.Helper()
	p, err := artist.NewPrefetch(w.mirror, artist.PrefetchConfig{
		Holder: "scenario", Pace: artist.Pace{Usual: perSecond, Evening: perSecond}, Logger: quiet,
	})
	require.NoError(t, err)
	start(t, "prefetch", p.Run)
}

// start runs a part until the test's end.
func start(t testing.TB, name string, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		check(t, name, <-ended)
	})
}

func check(t testing.TB, what string, err error) {
	t.Helper()
	assert.NoErrorf(t, err, "%s", what)
}

// due makes artists, from an id on, that prefetch refreshes: read a moment ago
// and never checked.
func (w *town) due(t *testing.T, from, n int) {
	t.Helper()
	w.box.Exec(t, `WITH RECURSIVE ids (id) AS (SELECT CAST($1 AS INTEGER) UNION ALL SELECT id + 1 FROM ids WHERE id < $2)
		INSERT INTO artists (artist_id, last_requested_at) SELECT CAST(id AS TEXT), now_ms() - 1000 FROM ids`, from, from+n-1)
}

// behind is how many requests of a topic are not acknowledged.
func (w *town) behind(t *testing.T, topic string) int {
	t.Helper()
	return lagOf(t, w.bus, topic)
}

func lagOf(t *testing.T, b *bus.Bus, topic string) (n int) {
	t.Helper()
	all, err := b.Lag(t.Context())
	require.NoError(t, err)
	for _, l := range all {
		if l.Topic == topic {
			n += l.Messages
		}
	}
	return n
}

// patience is far longer than anything here takes.
const patience = 2 * time.Minute

// eventually waits until done, in the bubble's time where there is one, and
// returns how long it took.
func eventually(t testing.TB, what string, done func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		if <-tick.C; time.Since(began) > patience {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
	return time.Since(began)
}

// kept fails when the upstream's limit did not hold or a refresh became a dead
// letter.
func (w *town) kept(t *testing.T) upstream.Stats {
	t.Helper()
	s := w.api.Stats(0)
	if s.Violations != 0 || s.Bans != 0 || s.Worst.Calls > hardLimit {
		t.Errorf("the upstream saw %d violations and %d bans, and %d calls in its worst second", s.Violations, s.Bans, s.Worst.Calls)
	}
	assert.Equal(t, 0, w.behind(t, artist.DeadLetters), "dead letters")
	return s
}

// breaker is the state of the one before the database: 0 closed, 1 half-open,
// 2 open.
func (w *town) breaker(t *testing.T) float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(w.mirror.Collector(w.worker))
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "db_circuit_breaker_state" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("no db_circuit_breaker_state")
	return 0
}

func (w *town) get(t *testing.T, id string) artist.View {
	t.Helper()
	v, err := w.mirror.Get(t.Context(), id)
	require.NoError(t, err)
	return v
}

// age makes an artist's last check a thing of the past.
func (w *town) age(t *testing.T, id string, by time.Duration) {
	t.Helper()
	w.box.Exec(t, `UPDATE artists SET last_checked_at = last_checked_at - $2, last_updated_at = last_updated_at - $2 WHERE artist_id = $1`, id, by.Milliseconds())
}

func (w *town) row(t *testing.T, column, id string) string {
	t.Helper()
	return w.box.Query(t, fmt.Sprintf(`SELECT %s FROM artists WHERE artist_id = $1`, column), id)
}

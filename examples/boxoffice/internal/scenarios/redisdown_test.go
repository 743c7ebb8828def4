package scenarios

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/ratelimit"
)

// Redis is killed under the mirror. Reads are served from the database and promise
// nothing; requests and permits are refused with a clear error; nothing is published,
// dead-lettered or called. With Redis back, all goes on.
func TestScenario10RedisDown(t *testing.T) { columnsBesideRedis(t, redisDownHere, redisDownOnServers) }

func redisDownHere(t *testing.T) {
	server := redistest.StartServer(t)
	w := &town{box: boxtest.Open(t, "sqlite://"+freshFile(t))}
	var err error
	if w.bus, err = bus.Open(t.Context(), "mem://", membus.Scheme()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, "close the bus", w.bus.Close()) })
	check(t, "declare topics", w.bus.Declare(t.Context(), artist.Topics()...))
	client := openRedis(t, server.URL())
	locks, err := rediscoalesce.New(client, rediscoalesce.Config{})
	require.NoError(t, err)
	// Breakers that try again soon.
	if w.coalescer, err = coalesce.New(locks, coalesce.Config{Timeout: 10 * time.Second, BreakerOpenFor: 100 * time.Millisecond, BreakerTrials: 1}); err != nil {
		t.Fatal(err)
	}
	w.limiter, _ = newBudget(t, client, "rate", ratelimit.Config{
		Limits:  ratelimit.Limits{HardLimit: hardLimit, Rate: 300, LowRate: 200, Delay: 500 * time.Millisecond}, // for a slow machine
		Timeout: 10 * time.Second, BreakerOpenFor: 100 * time.Millisecond, BreakerTrials: 1,
	})
	address := serve(t, w)
	worker(t, w, address, artist.Config{
		AskedFor: time.Nanosecond, ReadTimeout: time.Minute, HighLag: func() (int64, bool) { return 70, true },
	})
	if w.lag, err = bus.NewLagMonitor(w.bus, bus.LagMonitorConfig{Logger: quiet}); err != nil {
		t.Fatal(err)
	}
	start(t, "lag monitor", w.lag.Run)
	r := w.works(t)

	w.get(t, "1")
	eventually(t, "it is there", func() bool { return w.get(t, "1").Freshness == artist.Fresh })
	// The last asker may still be about to publish.
	eventually(t, "all was asked for, and is acknowledged", func() bool { return w.mirror.Stats().Waiting == 0 && w.behind(t, artist.TopicHigh) == 0 })
	w.age(t, "1", 2*time.Hour)
	server.Kill()
	w.get(t, "1") // finds it out, in the background
	eventually(t, "it is known that Redis is away", func() bool { return w.mirror.Stats().Away })
	calls := w.api.Stats(0).Calls
	reads := &waits{}
	for _, id := range []string{"1", "2", "1", "2"} {
		reads.get(t, w.mirror, id)
		v := w.get(t, id)
		if v.UpdateQueued || v.EstimatedWaitMs != nil {
			t.Errorf("artist %s promises a refresh: %+v", id, v)
		}
		if want := map[string]artist.Freshness{"1": artist.Stale, "2": artist.NotFound}[id]; v.Freshness != want || (v.Snapshot != nil) != (id == "1") {
			t.Errorf("artist %s is %s, want %s", id, v.Freshness, want)
		}
	}
	t.Logf("%d reads: p95 %v in real time", len(reads.real), p95(reads.real))
	if d, err := w.coalescer.Request(t.Context(), "3", coalesce.High); !errors.Is(err, coalesce.ErrUnavailable) || d.Mine() {
		t.Errorf("a request: %+v, %v", d, err)
	}
	if d, err := w.limiter.Allow(t.Context(), ratelimit.High); !errors.Is(err, ratelimit.ErrUnavailable) || d.Allowed {
		t.Errorf("a permit: %+v, %v", d, err)
	}
	assert.Equal(t, 0, w.behind(t, artist.TopicHigh)+w.behind(t, artist.TopicLow)+w.behind(t, artist.DeadLetters), "messages were published")
	if n := w.api.Stats(0).Calls; n != calls {
		t.Errorf("%d calls of the upstream without a budget", n-calls)
	}

	server.Start()
	eventually(t, "it was refreshed", func() bool { return w.get(t, "1").Freshness == artist.Fresh })
	if st := r.Status()[0]; st.DeadLettered != 0 {
		t.Errorf("%+v", st)
	}
	w.kept(t)
}

// serve starts the upstream on the loopback interface.
func serve(t *testing.T, w *town) (address string) {
	t.Helper()
	var err error
	if w.api, err = upstream.New(upstream.Config{BodyBytes: 2000, Limit: hardLimit}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	start(t, "upstream", func(ctx context.Context) error { return w.api.Serve(ctx, l) })
	return "http://" + l.Addr().String()
}

// worker makes the mirror and its worker, as the box office does, and runs the
// mirror.
func worker(t *testing.T, w *town, address string, cfg artist.Config) {
	t.Helper()
	cfg.Logger = quiet
	var err error
	if w.mirror, err = artist.New(w.box.Store, w.coalescer, w.bus.Publisher(), cfg); err != nil {
		t.Fatal(err)
	}
	budget, err := artist.NewBudget(w.limiter, time.Minute)
	require.NoError(t, err)
	t.Cleanup(budget.Close)
	client, err := artist.NewUpstream(artist.UpstreamConfig{URL: address, Transport: budget.Transport, Instance: "here", Logger: quiet, Timeout: time.Minute})
	require.NoError(t, err)
	if w.worker, err = artist.NewWorker(w.mirror, client, artist.WorkerConfig{WriteTimeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	start(t, "mirror", w.mirror.Run)
}

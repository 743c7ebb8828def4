package scenarios

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
)

// The environment of the process that is killed: a database, and an upstream.
const (
	childDB  = "SCENARIOS_CHILD_DB"
	childAPI = "SCENARIOS_CHILD_API"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{})
	if url := os.Getenv(childDB); url != "" {
		fmt.Fprintln(os.Stderr, workAlone(context.Background(), url, os.Getenv(childAPI)))
		os.Exit(1) // it is killed before it ends
	}
	for name, be := range map[string]func(string) error{childPoison: consumeAlone, childVictim: beVictim, childStreams: serveStreamsAlone, childInstance: beInstance} {
		if given := os.Getenv(name); given != "" {
			if err := be(given); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	goleak.VerifyTestMain(m,
		// The Kafka client has one for the whole process, for good.
		goleak.IgnoreAnyFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"),
		goleak.Cleanup(func(code int) {
			if err := program.remove(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
			os.Exit(code)
		}))
}

// refreshes is the number of requested refreshes.
const refreshes = 40

// workAlone is a process with the role worker only.
func workAlone(ctx context.Context, url, api string) error {
	s, err := store.Open(ctx, url)
	if err != nil {
		return err
	}
	b, err := openFile(ctx, s, url)
	if err != nil {
		return err
	}
	w, err := newWorker(s, b, api, "killed")
	if err != nil {
		return err
	}
	r, err := bus.NewRunner(b, bus.RunnerConfig{Logger: quiet})
	if err != nil {
		return err
	}
	if err := r.Add(w.worker.Pair(nil)); err != nil {
		return err
	}
	return r.Run(ctx)
}

// openFile opens the bus in the database's own file.
func openFile(ctx context.Context, s *store.Store, url string) (*bus.Bus, error) {
	return bus.Open(ctx, url, sqlitebus.Scheme(sqlitebus.Config{
		DB: s.DB(), ReadDB: s.Reader(), LeaseTTL: 2 * time.Second, Logger: quiet,
	}))
}

// newWorker makes a mirror and a worker on a database and a bus that others use too.
func newWorker(s *store.Store, b *bus.Bus, api, name string) (*town, error) {
	w := &town{bus: b}
	var err error
	if w.coalescer, err = coalesce.New(memcoalesce.New(), coalesce.Config{}); err != nil {
		return nil, err
	}
	permits := memratelimit.New()
	if w.limiter, err = ratelimit.New(permits, ratelimit.Config{
		// Half of the budget for each of the two, and time for a slow machine.
		Limits: ratelimit.Limits{HardLimit: hardLimit / 2, Rate: 100, Delay: time.Second}, Logger: quiet,
	}); err != nil {
		return nil, err
	}
	if w.mirror, err = artist.New(s, w.coalescer, b.Publisher(), artist.Config{AskTimeout: time.Minute, ReadTimeout: time.Minute, Logger: quiet}); err != nil {
		return nil, err
	}
	budget, err := artist.NewBudget(w.limiter, 10*time.Minute)
	if err != nil {
		return nil, err
	}
	client, err := artist.NewUpstream(artist.UpstreamConfig{
		URL: api, Transport: budget.Transport, Instance: name, Logger: quiet, Timeout: time.Minute,
	})
	if err != nil {
		return nil, err
	}
	w.worker, err = artist.NewWorker(w.mirror, client, artist.WorkerConfig{
		WriteTimeout: time.Minute,
		HighBatch:    1, HighBatches: refreshes, // all of them are in hand at once
	})
	w.closeBudget = budget.Close
	return w, err
}

// A worker is killed (kill -9) while it waits for the upstream's answer to every
// request. Another one takes over: all requests are carried out.
func TestScenario04Chaos(t *testing.T) { columns(t, chaosHere, chaosOnServers) }

func chaosHere(t *testing.T) {
	url := "sqlite://" + freshFile(t)
	box := boxtest.Open(t, url)
	b, err := openFile(t.Context(), box.Store, url)
	require.NoError(t, err)
	t.Cleanup(func() { check(t, "close the bus", b.Close()) })
	check(t, "declare topics", b.Declare(t.Context(), artist.Topics()...))

	api, err := upstream.New(upstream.Config{BodyBytes: 2000, Limit: hardLimit})
	require.NoError(t, err)
	arrived := make(chan string, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get(upstream.HeaderInstance) == "killed" {
			arrived <- r.URL.Path
			<-r.Context().Done() // it is never answered
			return
		}
		api.Handler().ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)

	w, err := newWorker(box.Store, b, server.URL, "other")
	require.NoError(t, err)
	w.box, w.api = box, api
	t.Cleanup(w.closeBudget)
	start(t, "mirror", w.mirror.Run)
	for i := range refreshes {
		w.get(t, strconv.Itoa(i+1))
	}
	eventually(t, "all are asked for", func() bool { return w.behind(t, artist.TopicHigh) == refreshes })

	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDB+"="+url, childAPI+"="+server.URL)
	child.Stderr = os.Stderr
	require.NoError(t, child.Start())
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	defer child.Process.Kill() //nolint:errcheck // it is dead unless the test fails
	for seen := map[string]bool{}; len(seen) < refreshes; {
		select {
		case path := <-arrived:
			seen[path] = true
		case err := <-ended:
			t.Fatalf("the worker ended by itself: %v", err)
		case <-time.After(5 * time.Minute):
			t.Fatalf("the worker called the upstream for %d artists of %d", len(seen), refreshes)
		}
	}
	check(t, "kill the worker", child.Process.Kill())
	var killed *exec.ExitError
	if err := <-ended; err != nil && !errors.As(err, &killed) {
		t.Fatal(err)
	}
	if n := w.behind(t, artist.TopicHigh); n != refreshes {
		t.Errorf("%d of %d are unacknowledged, and none was answered", n, refreshes)
	}

	r, err := bus.NewRunner(b, bus.RunnerConfig{Logger: quiet})
	require.NoError(t, err)
	check(t, "add the worker", r.Add(w.worker.Pair(nil)))
	start(t, "the other worker", r.Run)
	eventually(t, "the other worker has done all", func() bool { return w.behind(t, artist.TopicHigh) == 0 })
	for i := range refreshes {
		if v := w.get(t, strconv.Itoa(i+1)); v.Freshness != artist.Fresh {
			t.Errorf("artist %d is %s", i+1, v.Freshness)
		}
	}
	w.kept(t)
}

// freshFile is the path of a fresh database.
func freshFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "boxoffice.db")
	boxtest.Copy(t, path)
	return path
}

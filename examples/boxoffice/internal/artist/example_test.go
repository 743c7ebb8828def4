package artist_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist/archive"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A mirror with all its parts, in a program of one process.
func Example() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"id":"7","name":"Ann","level":3,"attributes":{},"history":["…"]}`)
	}))
	defer api.Close()
	folder := must(os.MkdirTemp("", "artist-*"))
	defer os.RemoveAll(folder)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	db := must(store.Open(ctx, "sqlite://"+filepath.Join(folder, "boxoffice.db")))
	defer db.Close()
	b := must(bus.Open(ctx, "mem://", membus.Scheme()))
	defer b.Close()
	if err := b.Declare(ctx, artist.Topics()...); err != nil {
		panic(err)
	}
	locks := must(coalesce.New(memcoalesce.New(), coalesce.Config{}))
	limits := must(memratelimit.New(memratelimit.Config{}))
	limiter := must(ratelimit.New(limits, ratelimit.Config{Limits: ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350}}))
	budget := must(artist.NewBudget(limiter, 0))
	defer budget.Close()

	mirror := must(artist.New(db, locks, b.Publisher(), artist.Config{
		Archive: must(archive.NewDir(filepath.Join(folder, "archive"))),
	}))
	api1 := must(artist.NewUpstream(artist.UpstreamConfig{URL: api.URL, Transport: budget.Transport}))
	worker := must(artist.NewWorker(mirror, api1, artist.WorkerConfig{}))
	runner := must(bus.NewRunner(b, bus.RunnerConfig{}))
	if err := runner.Add(worker.Pair(nil)); err != nil {
		panic(err)
	}
	ended := make(chan error, 2)
	go func() { ended <- mirror.Run(ctx) }()
	go func() { ended <- runner.Run(ctx) }()
	<-runner.Running()

	v := must(mirror.Get(ctx, "7"))
	fmt.Println(v.Freshness, v.UpdateQueued)
	for v.Freshness != artist.Fresh {
		time.Sleep(time.Millisecond)
		v = must(mirror.Get(ctx, "7"))
	}
	fmt.Println(v.Freshness, string(v.Snapshot))
	stop()
	fmt.Println(<-ended, <-ended)
	// Output:
	// NOT_FOUND true
	// FRESH {"attributes":{},"id":"7","level":3,"name":"Ann"}
	// <nil> <nil>
}

// The two jobs of which only one runs, with any number of processes: each waits for
// its lease.
func ExampleNewPrefetch() {
	jobs := func(mirror *artist.Mirror, lag *bus.LagMonitor, holder string) (*artist.Prefetch, *artist.Archiver, error) {
		seoul, err := time.LoadLocation("Asia/Seoul")
		if err != nil {
			return nil, nil, err
		}
		prefetch, err := artist.NewPrefetch(mirror, artist.PrefetchConfig{
			Holder: holder, Pace: artist.Pace{Zone: seoul},
			LowLag: artist.Lag(lag, artist.TopicLow, artist.GroupLow),
		})
		if err != nil {
			return nil, nil, err
		}
		archiver, err := artist.NewArchiver(mirror, artist.ArchiverConfig{Holder: holder, Zone: seoul})
		return prefetch, archiver, err
	}
	_, _, err := jobs(nil, nil, "worker-1")
	fmt.Println(err)
	// Output: artist: the mirror is nil; make one with New
}

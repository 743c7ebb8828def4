package cheats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
)

// run is a run.
type run struct {
	cfg     Config
	grounds *grounds
	people  []*person
	client  *http.Client
	began   time.Time

	came, entered, finished, refused atomic.Int64

	mu     sync.Mutex
	losses []span // from the last write that is kept to the promotion
	kills  int
}

func (r *run) now() time.Duration { return time.Since(r.began) }

// answered is how long an answer of the former master may be on its way.
const answered = time.Second

// lost says whether a moment was in a second that the store has lost, or not long after it.
func (r *run) lost(at, after time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.losses {
		if at >= l.from-answered/4 && at <= l.to+answered+after {
			return true
		}
	}
	return false
}

// Run lets the crowd come, and writes what happens every 10 s and the verdict at the end. It
// returns [judge.ErrBroken] when a promise was broken. It leaves nothing behind.
func Run(ctx context.Context, cfg Config, out io.Writer) (err error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return fmt.Errorf("cheats: %w", err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 512}
	defer transport.CloseIdleConnections()
	r := &run{cfg: cfg, people: crowd(cfg), client: &http.Client{Transport: transport, Timeout: 5 * time.Second}}
	if r.grounds, err = open(ctx, cfg); err != nil {
		return fmt.Errorf("cheats: %w", err)
	}
	defer func() { err = errors.Join(err, r.grounds.close()) }()
	fmt.Fprintf(out, "%d people, of whom half cheat, at %d processes for %s; %d may be inside\n", cfg.People, instances, cfg.For, cfg.Threshold)
	r.began = time.Now()
	window, over := context.WithTimeout(ctx, cfg.For)
	defer over()
	errs := make([]error, 2)
	var others, all sync.WaitGroup
	others.Go(func() { errs[0] = r.every(window, cfg.Kill, r.kill) })
	others.Go(func() { errs[1] = r.every(window, cfg.Promote, r.promote) })
	others.Go(func() {
		_ = r.every(window, min(10*time.Second, cfg.For/6), func(context.Context) error { r.report(out); return nil })
	})
	for _, p := range r.people {
		all.Go(func() { r.live(window, p) })
	}
	all.Wait()
	others.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return fmt.Errorf("cheats: %w", err)
	}
	for _, p := range r.people {
		if last := len(p.stays) - 1; p.inside && r.lost(p.stays[last].from, 0) {
			p.stays[last].lost, p.since = true, cfg.For
		}
	}
	r.report(out)
	return judge.Conclude(screen.New(out, true), findings(cfg, r.people, r.losses, cfg.For))
}

// every does something again and again until the run is over.
func (r *run) every(ctx context.Context, interval time.Duration, do func(context.Context) error) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := do(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// kill kills an instance at random, and starts it again.
func (r *run) kill(ctx context.Context) error {
	i := r.grounds.instances[rand.IntN(instances)]
	i.kill()
	r.mu.Lock()
	r.kills++
	r.mu.Unlock()
	return r.grounds.start(ctx, i)
}

func (r *run) promote(ctx context.Context) error {
	from := r.now()
	return r.grounds.promote(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.losses = append(r.losses, span{from, r.now()})
	})
}

func (r *run) report(out io.Writer) {
	r.mu.Lock()
	kills, losses := r.kills, len(r.losses)
	r.mu.Unlock()
	fmt.Fprintf(out, "%8s  %d lined up, %d let in, %d finished; %d instances killed, %d promotions; %d calls refused\n",
		r.now().Round(time.Second), r.came.Load(), r.entered.Load(), r.finished.Load(), kills, losses, r.refused.Load())
}

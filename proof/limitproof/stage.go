package limitproof

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream/boottime"
)

// stage is where all acts play: the upstream, Redis, and the workers, each a
// process of its own.
type stage struct {
	cfg    config
	remote remote
	dir    string
	log    *os.File
	draw   *rand.Rand
	played int // acts

	redis    *server
	upstream string
	workers  []string          // URLs
	live     []*launch.Process // the upstream, and the workers in their order
}

// startWithin bounds the start of a process.
const startWithin = time.Minute

// open starts everything. After an error, close stops the started processes.
func (s *stage) open(ctx context.Context) (err error) {
	s.remote, s.draw = newRemote(), rand.New(rand.NewPCG(s.cfg.seed, 'l'))
	if s.dir, err = os.MkdirTemp(s.cfg.temp, "limit-proof-"); err != nil {
		return fmt.Errorf("limitproof: make a folder: %w", err)
	}
	if s.log, err = os.Create(filepath.Join(s.dir, "limit-proof.log")); err != nil {
		return fmt.Errorf("limitproof: make a log: %w", err)
	}
	data := filepath.Join(s.dir, "redis")
	if err := os.Mkdir(data, 0o700); err != nil {
		return fmt.Errorf("limitproof: make a folder: %w", err)
	}
	if s.redis, err = startServer(ctx, s.cfg.redisServer, data, s.log); err != nil {
		return err
	}
	// A violation is counted whether it bans or not, and a short ban lets the
	// next act begin.
	err = s.start("upstream", upstreamRole, "--body-bytes", "3000", "--limit", strconv.Itoa(s.cfg.hard), "--ban-for", "100ms",
		"--latency", "10ms", "--jitter", "10ms")
	for i := 1; err == nil && i <= s.cfg.workers; i++ {
		err = s.start(fmt.Sprintf("worker %d", i), workerRole)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for i, p := range s.live {
		url, err := p.FirstLine(ctx)
		if err != nil {
			return fmt.Errorf("limitproof: %w", err)
		}
		if i == 0 {
			s.upstream = url
			continue
		}
		s.workers = append(s.workers, url)
	}
	return nil
}

// start starts this program with another command.
func (s *stage) start(name string, args ...string) error {
	p, err := launch.Start(launch.Spec{
		Name: name, Path: s.cfg.program, Dir: s.dir, Env: os.Environ(), Log: s.log,
		Args: append(append([]string{}, s.cfg.prefix...), args...),
	})
	if err != nil {
		return fmt.Errorf("limitproof: %w", err)
	}
	s.live = append(s.live, p)
	return nil
}

// play plays an act, on an unused budget.
func (s *stage) play(ctx context.Context, a act) (o outcome, err error) {
	limits := a.limits(s.cfg)
	if o.plan, err = limits.Plan(); err != nil {
		return o, err
	}
	if err := s.remote.reset(ctx, s.upstream); err != nil {
		return o, err
	}
	s.played++
	budget := fmt.Sprintf("act-%d", s.played)
	begin := boottime.Now() + 200*time.Millisecond // for the workers to get their jobs
	o.act, o.measured.from = a, begin+s.cfg.lead
	o.measured.to = o.measured.from + s.cfg.within(a)
	o.end = o.measured.to
	jobs := make([]job, len(s.workers))
	for i := range jobs {
		jobs[i] = job{
			Budget: budget, Redis: s.redis.URL, Upstream: s.upstream, Instance: fmt.Sprintf("worker-%d", i+1),
			Limits: limits, Begin: begin, End: o.end, Demand: a.demand(s.cfg, i),
		}
	}
	all, err := s.perform(ctx, jobs, func(ctx context.Context) (err error) {
		if a.fault != nil {
			o.happened, err = a.fault(ctx, &plot{redis: s.redis, workers: s.live[1:], budget: budget, during: o.measured, draw: s.draw})
		}
		return err
	})
	if err != nil {
		return o, err
	}
	o.done = sum(all)
	stats, calls, err := s.remote.seen(ctx, s.upstream)
	if err != nil {
		return o, err
	}
	if err := complete(stats, calls); err != nil {
		return o, err
	}
	o.figures = measure(calls, o.measured, s.cfg.hard)
	return o, nil
}

// perform runs the jobs of all workers beside a fault.
func (s *stage) perform(ctx context.Context, jobs []job, fault func(context.Context) error) ([]done, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all, errs := make([]done, len(jobs)), make(chan error, len(jobs)+1)
	for i, j := range jobs {
		go func() {
			var err error
			if all[i], err = s.remote.perform(ctx, s.workers[i], j); err != nil {
				err = fmt.Errorf("worker %d: %w", i+1, err)
			}
			errs <- err
		}()
	}
	go func() { errs <- fault(ctx) }()
	var first error
	for range len(jobs) + 1 {
		if err := <-errs; err != nil && first == nil {
			first = err
			cancel() // the others need not go on
		}
	}
	return all, first
}

// complete checks whether the log can be judged.
func complete(stats upstream.Stats, calls []upstream.Call) error {
	unstamped := 0
	for _, c := range calls {
		if c.Sent == 0 {
			unstamped++
		}
	}
	switch {
	case stats.Log.Lost > 0 || stats.Calls != int64(len(calls)):
		return fmt.Errorf("limitproof: the upstream counted %d calls and has logged %d", stats.Calls, len(calls))
	case stats.Late > 0:
		return fmt.Errorf("limitproof: the upstream took the time of %d calls too late", stats.Late)
	case unstamped > 0:
		return fmt.Errorf("limitproof: %d calls do not say when they were sent", unstamped)
	case stats.Violations > 0 != (stats.Worst.Calls > stats.Limit):
		return fmt.Errorf("limitproof: the upstream counts %d violations, with %d calls in its fullest second", stats.Violations, stats.Worst.Calls)
	}
	return nil
}

// close stops the running processes, the workers first.
func (s *stage) close(keep bool) (err error) {
	for i := len(s.live) - 1; i >= 0; i-- {
		err = errors.Join(err, s.live[i].Stop(30*time.Second))
	}
	if s.redis != nil {
		err = errors.Join(err, s.redis.close())
	}
	if s.log != nil {
		err = errors.Join(err, s.log.Close())
	}
	if s.dir != "" && !keep {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

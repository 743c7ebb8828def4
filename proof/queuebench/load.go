package queuebench

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/proof/report"
)

// result is the result of one contender's load.
type result struct {
	rate     float64 // per second
	p50, p99 time.Duration
	redis    time.Duration // processor time of Redis, for each
	process  time.Duration // of this process, for each
	calls    float64       // of Redis, for each
	told     float64       // share of polls, as signs of life, that Redis got
	n        int64         // how many there were
	passed   time.Duration // in all
}

// deadline bounds one measurement beyond its time.
const deadline = time.Minute

// timed is the number of calls for each one whose time is taken.
const timed = 8

// scripted are the commands of a client that runs scripts.
var scripted = []string{"evalsha", "eval"}

// errAll says that a caller has no work left.
var errAll = errors.New("that is all")

// load makes callers act as fast as they are answered, for a time or until errAll.
// caller returns each caller's next action; end is the work that remains then,
// which is in the measured time.
func load(ctx context.Context, s *redisserver.Server, span time.Duration, caller func() func(ctx context.Context) error, end func(ctx context.Context) error) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, span+deadline)
	defer cancel()
	before, err := s.Used(ctx)
	if err != nil {
		return result{}, err
	}
	do := make([]func(ctx context.Context) error, callers)
	for i := range do {
		do[i] = caller()
	}
	cpu, start := report.CPU(), time.Now()
	var done atomic.Int64
	took := make([][]time.Duration, callers)
	failed := together(callers, span, func(caller int, over *atomic.Bool) error {
		n := 0
		defer func() { done.Add(int64(n)) }()
		for ; !over.Load(); n++ {
			if n%timed > 0 {
				if err := do[caller](ctx); err != nil {
					return err
				}
				continue
			}
			begin := time.Now()
			if err := do[caller](ctx); err != nil {
				return err
			}
			took[caller] = append(took[caller], time.Since(begin))
		}
		return nil
	})
	if failed != nil {
		return result{}, failed
	}
	if err := end(ctx); err != nil {
		return result{}, err
	}
	passed := time.Since(start)
	cpu = report.CPU() - cpu
	after, err := s.Used(ctx)
	if err != nil {
		return result{}, err
	}
	n := done.Load()
	if n == 0 {
		return result{}, errors.New("nothing was answered in time")
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	redis, calls := after.Since(before, scripted)
	return result{
		rate: float64(n) / passed.Seconds(), p50: quantile(all, 0.5), p99: quantile(all, 0.99),
		redis: redis / time.Duration(n), process: cpu / time.Duration(n), calls: float64(calls) / float64(n),
		n: n, passed: passed,
	}, nil
}

// quantile of sorted durations.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return all[min(len(all)-1, int(q*float64(len(all))))]
}

// together runs fn in so many goroutines, until the time is over or one fails.
func together(callers int, span time.Duration, fn func(caller int, over *atomic.Bool) error) error {
	var over atomic.Bool
	stop := time.AfterFunc(span, func() { over.Store(true) })
	defer stop.Stop()
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			if err := fn(i, &over); err != nil && !errors.Is(err, errAll) {
				errs[i] = err
				over.Store(true)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

package limitbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/proof/report"
)

// result is the result of one contender's run.
type result struct {
	rate    float64       // of the decisions that are asked for, per second
	others  float64       // share of decisions that came out the other way
	redis   time.Duration // processor time of Redis, per decision
	process time.Duration // of this process, per decision
	calls   float64       // of Redis, per decision
	total   int64         // calls of Redis
}

// deadline bounds one measurement beyond its time.
const deadline = time.Minute

// load makes callers ask as fast as they are answered, for a time. It counts the
// decisions that were allowed, or refused when denied.
func load(ctx context.Context, s *redisserver.Server, callers int, span time.Duration, denied bool, ask decide) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, span+deadline)
	defer cancel()
	before, err := s.Used(ctx)
	if err != nil {
		return result{}, err
	}
	cpu, start := report.CPU(), time.Now()
	var counted, others atomic.Int64
	if err := together(callers, func(over *atomic.Bool) error {
		n, m := int64(0), int64(0)
		defer func() { counted.Add(n); others.Add(m) }()
		for !over.Load() {
			allowed, err := ask(ctx)
			if err != nil {
				return err
			}
			if allowed != denied {
				n++
			} else {
				m++
			}
		}
		return nil
	}, span); err != nil {
		return result{}, err
	}
	took := time.Since(start)
	cpu = report.CPU() - cpu
	after, err := s.Used(ctx)
	if err != nil {
		return result{}, err
	}
	n := counted.Load()
	if n == 0 {
		return result{}, fmt.Errorf("none of %d decisions came out as was to be", others.Load())
	}
	redis, calls := after.Since(before, scripted)
	return result{
		rate: float64(n) / took.Seconds(), others: float64(others.Load()) / float64(n+others.Load()),
		redis: redis / time.Duration(n), process: cpu / time.Duration(n), calls: float64(calls) / float64(n), total: calls,
	}, nil
}

// together runs fn in so many goroutines, until the time is over or one fails.
func together(callers int, fn func(over *atomic.Bool) error, span time.Duration) error {
	var over atomic.Bool
	stop := time.AfterFunc(span, func() { over.Store(true) })
	defer stop.Stop()
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			if errs[i] = fn(&over); errs[i] != nil {
				over.Store(true)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// warm asks until the budget is full, or used up when denied, and the callers'
// connections are made.
func warm(ctx context.Context, callers int, denied bool, ask decide) error {
	for start := time.Now(); ; {
		allowed, err := ask(ctx)
		if err != nil {
			return err
		}
		if allowed != denied {
			break
		}
		if time.Since(start) > deadline {
			return fmt.Errorf("no decision came out as was to be within %v", deadline)
		}
	}
	return together(callers, func(over *atomic.Bool) error {
		for !over.Load() {
			if _, err := ask(ctx); err != nil {
				return err
			}
		}
		return nil
	}, 200*time.Millisecond)
}

// lone measures one caller's waits, of all contenders in turn, so that disturbances
// of the machine affect all of them alike. It returns their medians.
func lone(ctx context.Context, decisions int, asks []decide) ([]time.Duration, error) {
	const block = 100
	took := make([][]time.Duration, len(asks))
	for n := 0; n < decisions; n += block {
		for i, ask := range asks {
			for range block {
				start := time.Now()
				if _, err := ask(ctx); err != nil {
					return nil, err
				}
				took[i] = append(took[i], time.Since(start))
			}
		}
	}
	medians := make([]time.Duration, len(asks))
	for i := range took {
		slices.Sort(took[i])
		medians[i] = took[i][len(took[i])/2]
	}
	return medians, nil
}

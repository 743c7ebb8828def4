package limitbench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/percentile"
	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/proof/together"
)

// result is the result of one contender's run, of the decisions that are asked for.
type result struct {
	redisserver.Cost
	others float64 // share of decisions that came out the other way
}

// deadline bounds one measurement beyond its time.
const deadline = time.Minute

// load makes callers ask as fast as they are answered, for a time. It counts the
// decisions that were allowed, or refused when denied.
func load(ctx context.Context, s *redisserver.Server, callers int, span time.Duration, denied bool, ask decide) (got result, err error) {
	ctx, cancel := context.WithTimeout(ctx, span+deadline)
	defer cancel()
	others := int64(0)
	got.Cost, err = s.Cost(ctx, scripted, func() (counted int64, err error) {
		counted, others, err = count(ctx, callers, span, denied, ask)
		return counted, err
	})
	if err != nil {
		return got, fmt.Errorf("%d decisions came out the other way: %w", others, err)
	}
	got.others = float64(others) / float64(got.N+others)
	return got, nil
}

// count makes callers ask for a time, and counts the decisions that were allowed, or refused
// when denied, and the others.
func count(ctx context.Context, callers int, span time.Duration, denied bool, ask decide) (counted, others int64, err error) {
	var all, rest atomic.Int64
	err = together.For(callers, span, func(_ int, over *atomic.Bool) error {
		n, m := int64(0), int64(0)
		defer func() { all.Add(n); rest.Add(m) }()
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
	})
	return all.Load(), rest.Load(), err
}

// warm asks until the budget is full, or used up when denied, and the callers'
// connections are made.
func warm(ctx context.Context, callers int, denied bool, ask decide) error {
	if err := begin(ctx, denied, ask); err != nil {
		return err
	}
	_, _, err := count(ctx, callers, 200*time.Millisecond, denied, ask)
	return err
}

// begin asks until the budget is full, or used up when denied.
func begin(ctx context.Context, denied bool, ask decide) error {
	for start := time.Now(); ; {
		allowed, err := ask(ctx)
		if err != nil || allowed != denied {
			return err
		}
		if time.Since(start) > deadline {
			return fmt.Errorf("no decision came out as was to be within %v", deadline)
		}
	}
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
		medians[i] = percentile.Of(took[i], 0.5)
	}
	return medians, nil
}

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
	var counted, others atomic.Int64
	got.Cost, err = s.Cost(ctx, scripted, func() (int64, error) {
		err := together.For(callers, span, func(_ int, over *atomic.Bool) error {
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
		})
		return counted.Load(), err
	})
	if err != nil {
		return got, fmt.Errorf("%d decisions came out the other way: %w", others.Load(), err)
	}
	got.others = float64(others.Load()) / float64(got.N+others.Load())
	return got, nil
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
	return together.For(callers, 200*time.Millisecond, func(_ int, over *atomic.Bool) error {
		for !over.Load() {
			if _, err := ask(ctx); err != nil {
				return err
			}
		}
		return nil
	})
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

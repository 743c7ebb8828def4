package queuebench

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/percentile"
	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/proof/together"
)

// result is the result of one contender's load.
type result struct {
	redisserver.Cost
	p50, p99 time.Duration
	told     float64 // share of polls, as signs of life, that Redis got
}

// deadline bounds one measurement beyond its time.
const deadline = time.Minute

// timed is the number of calls for each one whose time is taken.
const timed = 8

// scripted are the commands of a client that runs scripts.
var scripted = []string{"evalsha", "eval"}

// load makes callers act as fast as they are answered, for a time or until [together.ErrDone].
// caller returns each caller's next action; end is the work that remains then,
// which is in the measured time.
func load(ctx context.Context, s *redisserver.Server, span time.Duration, caller func() func(ctx context.Context) error, end func(ctx context.Context) error) (got result, err error) {
	ctx, cancel := context.WithTimeout(ctx, span+deadline)
	defer cancel()
	do, took := make([]func(ctx context.Context) error, callers), make([][]time.Duration, callers)
	for i := range do {
		do[i] = caller()
	}
	got.Cost, err = s.Cost(ctx, scripted, func() (int64, error) {
		var done atomic.Int64
		err := together.For(callers, span, func(caller int, over *atomic.Bool) error {
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
		if err != nil {
			return 0, err
		}
		return done.Load(), end(ctx)
	})
	all := slices.Concat(took...)
	slices.Sort(all)
	got.p50, got.p99 = percentile.Of(all, 0.5), percentile.Of(all, 0.99)
	return got, err
}

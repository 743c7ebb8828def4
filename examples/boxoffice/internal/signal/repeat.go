package signal

import (
	"context"
	"math"
	"time"
)

// Never is the time of a step that only a wake-up repeats.
const Never = time.Duration(math.MaxInt64)

// Repeat calls step at once, and again whenever it is woken and whenever the time that the
// last step returned has passed, until ctx ends. A nil Signal wakes nothing.
func (s Signal) Repeat(ctx context.Context, step func(ctx context.Context) (next time.Duration)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s:
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return
		}
		timer.Reset(step(ctx))
	}
}

// Every calls step at once and then after each interval, until ctx ends.
func Every(ctx context.Context, interval time.Duration, step func(ctx context.Context)) {
	Signal(nil).Repeat(ctx, func(ctx context.Context) time.Duration {
		step(ctx)
		return interval
	})
}

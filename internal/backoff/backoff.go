// Package backoff computes how long to wait before trying again: exponential
// growth up to a cap, with jitter so that many waiters do not come back at once.
//
//	property                                           proven by
//	delays grow by the multiplier up to the cap        TestDelayGrows
//	jitter stays within its fraction and the cap       TestDelayJitter
//	no attempt number overflows                        TestDelayNeverOverflows
//	Sleep ends with its context and leaves no timer    TestSleep
package backoff

import (
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// Policy describes how delays grow. The zero value is 1 s, 2 s, 4 s, 8 s, 10 s, 10 s … without
// jitter. A Policy has no state: the caller counts the attempts.
type Policy struct {
	// Initial is the first delay; 1 s when zero.
	Initial time.Duration
	// Max caps every delay, jitter included; 10 s when zero, or Initial when
	// that is longer.
	Max time.Duration
	// Multiplier is the growth per attempt; 2 when zero, 1 for a fixed interval.
	Multiplier float64
	// Jitter spreads each delay evenly over ± this fraction of it, 0 to 1; 0
	// means none.
	Jitter float64
}

// Delay returns the wait before the given retry; the first retry is attempt 1, and smaller
// numbers count as 1.
func (p Policy) Delay(attempt int) time.Duration {
	initial, limit, multiplier := p.Initial, p.Max, p.Multiplier
	if initial <= 0 {
		initial = time.Second
	}
	if limit <= 0 {
		limit = 10 * time.Second
		if p.Initial > limit {
			limit = p.Initial
		}
	}
	if multiplier <= 0 {
		multiplier = 2
	}
	d := float64(initial) * math.Pow(multiplier, float64(max(attempt, 1)-1))
	// Cap before the jitter; otherwise +Inf times the jitter could result.
	d = min(d, float64(limit))
	if j := min(max(p.Jitter, 0), 1); j > 0 {
		d *= 1 + j*(2*rand.Float64()-1)
	}
	if d >= float64(limit) {
		return limit
	}
	return time.Duration(d)
}

// Sleep waits for d, or until ctx is done; then it returns the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

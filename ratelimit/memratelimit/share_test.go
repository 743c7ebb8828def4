package memratelimit_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
)

// TestLowIsServedUnderAFloodOfHigh: under a flood of high, of its own process and of another
// one, low gets LowShare, and high gets the rest. Callers of Allow get some calls, too.
func TestLowIsServedUnderAFloodOfHigh(t *testing.T) {
	for _, tc := range []struct {
		name      string
		percent   *int
		strict    bool
		least, at int // of low's calls in the run
	}{
		{"by default", nil, false, 166, 190},
		{"a fifth", new(20), false, 665, 730},
		{"off", new(0), false, 0, 2},
		{"strict", new(20), true, 620, 780},
	} {
		for _, where := range []string{"one process", "two processes"} {
			for _, how := range []string{"wait", "allow"} {
				t.Run(fmt.Sprint(tc.name, ", ", where, ", ", how), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						const run = 10 * time.Second
						limits := ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350, LowShare: tc.percent, Strict: tc.strict, Processes: 2}
						store := memratelimit.New()
						open := func() *ratelimit.Limiter {
							l, err := ratelimit.New(store, ratelimit.Config{Limits: limits})
							require.NoError(t, err)
							return l
						}
						highs := open()
						lows := highs
						if where == "two processes" {
							lows = open()
						}
						ctx, cancel := context.WithTimeout(t.Context(), run+2*time.Second)
						defer cancel()
						var wg sync.WaitGroup
						var served [2]atomic.Int64
						counts := time.Now().Add(2 * time.Second) // after the start
						ask := func(l *ratelimit.Limiter, p driver.Priority, wait bool) {
							for ctx.Err() == nil {
								if wait {
									if _, err := l.Wait(ctx, p); err != nil {
										return
									}
								} else if d, err := l.Allow(ctx, p); err != nil || !d.Allowed {
									time.Sleep(max(d.RetryAfter, time.Millisecond))
									continue
								}
								if time.Now().After(counts) {
									served[p].Add(1)
								}
							}
						}
						for range 600 { // more than fit into a window
							wg.Go(func() { ask(highs, driver.High, true) })
						}
						for range 50 {
							wg.Go(func() { ask(lows, driver.Low, how == "wait") })
						}
						wg.Wait()
						low, high := int(served[driver.Low].Load()), int(served[driver.High].Load())
						least := tc.least
						if how == "allow" {
							least = least * 8 / 10 // they arrive a little later than possible
						}
						if low < least || low > tc.at {
							t.Errorf("low had %d calls, high %d; want %d to %d", low, high, least, tc.at)
						}
						if all := low + high; all < 4500*97/100 || all > 4500+50 {
							t.Errorf("%d calls in %s, want 4500", all, run)
						}
					})
				})
			}
		}
	}
}

package ratelimit_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// plenty grants everything, and answers at once.
type plenty struct{}

func (plenty) Acquire(_ context.Context, _ *driver.Plan, ask driver.Ask) (driver.Grant, error) {
	g := driver.Grant{Runs: make([]driver.RunGrant, len(ask.Runs))}
	for i, run := range ask.Runs {
		g.Runs[i].Granted = run.Count
	}
	return g, nil
}

func (plenty) Return(context.Context, *driver.Plan, driver.Returned) error { return nil }

// callers shares b.N decisions among n goroutines.
func callers(b *testing.B, n int, decide func() error) {
	b.ReportAllocs()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	for range n {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := decide(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1000, "k/s")
}

// BenchmarkAllow measures the limiter itself, with a store that costs nothing: an upper bound
// for every store.
func BenchmarkAllow(b *testing.B) {
	for _, n := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("granted/callers=%d", n), func(b *testing.B) {
			l := limiter(b, plenty{}, ratelimit.Config{})
			callers(b, n, func() error {
				_, err := l.Allow(context.Background(), ratelimit.High)
				return err
			})
		})
	}
	b.Run("denied/callers=512", func(b *testing.B) {
		store := &budget{}
		limits := usual
		limits.Rate, limits.LowRate = 1, 1 // refused for a second, again and again
		l := limiter(b, store, ratelimit.Config{Limits: limits})
		callers(b, 512, func() error {
			_, err := l.Allow(context.Background(), ratelimit.High)
			return err
		})
		b.ReportMetric(float64(store.calls()), "calls")
	})
}

package bench

import (
	"context"
	"fmt"
	"time"
)

// steadily calls do at the pace of latency measurements for the window, and returns how often.
func (c Config) steadily(ctx context.Context, do func(context.Context) error) (n int, err error) {
	tick := time.NewTicker(time.Second / paced)
	defer tick.Stop()
	end := time.NewTimer(c.Window)
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return n, ctx.Err()
		case <-end.C:
			return n, nil
		case <-tick.C:
			if err := do(ctx); err != nil {
				return n, err
			}
			n++
			c.Progress(fmt.Sprintf("%d sent one by one", n))
		}
	}
}

// receive waits for n arrivals, and for the last of them only for a limited time.
func receive(ctx context.Context, arrived <-chan struct{}, n int, patience time.Duration) error {
	late := time.NewTimer(max(patience, 10*time.Second))
	defer late.Stop()
	for i := range n {
		select {
		case <-arrived:
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return fmt.Errorf("only %d of %d have arrived; the server is too slow for this benchmark, or something else takes them", i, n)
		}
	}
	return nil
}

func perSecond(n int64, took time.Duration) float64 {
	if took <= 0 {
		return 0
	}
	return float64(n) / took.Seconds()
}

package frontgatetest_test

import (
	"context"
	"sync"
	"time"

	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

func roundDefects() []defect {
	rounds := func(change func(b *backend, r *driver.Round, err error)) func(b *backend) {
		return func(b *backend) {
			b.advance = func(ctx context.Context, event string, by int64, every time.Duration) (driver.Round, error) {
				r, err := b.Store.Advance(ctx, event, by, every)
				change(b, &r, err)
				return r, err
			}
		}
	}
	asks := func(change func(by *int64, every *time.Duration)) func(b *backend) {
		return func(b *backend) {
			b.advance = func(ctx context.Context, event string, by int64, every time.Duration) (driver.Round, error) {
				change(&by, &every)
				return b.Store.Advance(ctx, event, by, every)
			}
		}
	}
	return []defect{
		{name: "serves who has no position yet", caught: []string{"never-past-assigned", "random-histories"}, with: func(b *backend) {
			b.advance = func(ctx context.Context, event string, by int64, every time.Duration) (driver.Round, error) {
				before, err := b.Store.State(ctx, event)
				if err != nil {
					return driver.Round{}, err
				}
				r, err := b.Store.Advance(ctx, event, by, every)
				if err == nil && r.Next == every && r.On {
					r.Serving, r.Moved = before.Serving+by, by
				}
				return r, err
			}
		}},
		{name: "raises by one more", caught: []string{"never-past-assigned", "rounds-are-apart"}, with: asks(func(by *int64, _ *time.Duration) { *by++ })},
		{name: "makes every round at once", caught: []string{"rounds-are-apart", "rounds-over-callers", "empty-rounds-count"}, with: asks(func(_ *int64, every *time.Duration) { *every = 0 })},
		{name: "makes rounds a millisecond early", caught: []string{"rounds-are-apart"}, with: asks(func(_ *int64, every *time.Duration) { *every = max(0, *every-time.Millisecond) })},
		{name: "misstates when the next round is", caught: []string{"rounds-are-apart"}, with: rounds(func(_ *backend, r *driver.Round, _ error) { r.Next -= r.Next % time.Second })},
		{name: "does not count an empty round", caught: []string{"empty-rounds-count"}, with: func(b *backend) {
			b.advance = func(ctx context.Context, event string, by int64, every time.Duration) (driver.Round, error) {
				s, err := b.Store.State(ctx, event)
				if err != nil || s.Serving == s.Assigned {
					return driver.Round{State: s, Next: every}, err
				}
				return b.Store.Advance(ctx, event, by, every)
			}
		}},
		{name: "an operator's round counts", caught: []string{"operators-rounds"}, with: asks(func(_ *int64, every *time.Duration) {
			if *every == 0 {
				*every = time.Millisecond
			}
		})},
		{name: "an operator's round is no more than any", caught: []string{"operators-rounds"}, with: asks(func(_ *int64, every *time.Duration) {
			if *every == 0 {
				*every = 10 * time.Second
			}
		})},
		{name: "waits for a clock that was set back", caught: []string{"clock-set-back"}, with: func(b *backend) {
			var mu sync.Mutex
			var newest time.Time
			b.advance = func(ctx context.Context, event string, by int64, every time.Duration) (driver.Round, error) {
				mu.Lock()
				defer mu.Unlock()
				now := b.clock.get()
				if now.Before(newest) {
					s, err := b.Store.State(ctx, event)
					return driver.Round{State: s, Next: newest.Sub(now)}, err
				}
				newest = now
				return b.Store.Advance(ctx, event, by, every)
			}
		}},
		{name: "each call raises, whoever else does", caught: []string{"rounds-over-callers"}, with: func(b *backend) {
			var mu sync.Mutex
			calls := 0
			b.advance = func(ctx context.Context, event string, by int64, every time.Duration) (driver.Round, error) {
				mu.Lock()
				defer mu.Unlock()
				if calls++; calls == 2 {
					every = 0
				}
				return b.Store.Advance(ctx, event, by, every)
			}
		}},
	}
}

package ratelimit_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// budget is a store of two buckets in memory that records its asks. It begins full.
type budget struct {
	// before is called with each ask, with no lock held; its error is the answer.
	before func(ctx context.Context, ask driver.Ask) error

	mu       sync.Mutex
	fixed    bool // nothing is refilled
	day      int64
	tokens   [2]float64
	at       time.Time
	yield    time.Time
	asks     []driver.Ask
	granted  [2]int
	returned []driver.Returned
	failWith error // of Return
}

func (b *budget) Acquire(ctx context.Context, plan *driver.Plan, ask driver.Ask) (driver.Grant, error) {
	b.mu.Lock()
	b.asks = append(b.asks, ask)
	b.mu.Unlock()
	if b.before != nil {
		if err := b.before(ctx, ask); err != nil {
			return driver.Grant{}, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.refill(plan, now)
	g := driver.Grant{At: now.UnixMicro(), Day: ask.Day}
	if ask.Day.Day != b.day {
		g.Day = driver.DayCount{Day: b.day}
	}
	for _, run := range ask.Runs {
		got := driver.RunGrant{}
		for got.Granted < run.Count {
			reason, short := b.short(run, now)
			if reason == "" {
				got.Granted++
				b.granted[run.Priority] += run.Size
				g.Day.Used += int64(run.Size)
				b.tokens[ratelimit.High] -= float64(run.Size)
				if run.Priority == ratelimit.Low {
					b.tokens[ratelimit.Low] -= float64(run.Size)
				}
				continue
			}
			got.Reason = reason
			if !b.fixed {
				got.RetryAfter = time.Duration(short/float64(plan.Rate)*float64(time.Second)) + time.Microsecond
			}
			if reason == driver.ReasonLowCap {
				got.RetryAfter = time.Duration(short/float64(plan.LowRate)*float64(time.Second)) + time.Microsecond
			}
			if reason == driver.ReasonYield {
				got.RetryAfter = b.yield.Sub(now)
			}
			if run.Wait && run.Priority == ratelimit.High {
				b.yield = now.Add(plan.Yield)
			}
			break
		}
		g.Runs = append(g.Runs, got)
	}
	g.Remaining = [2]int{int(min(b.tokens[0], b.tokens[1])), int(b.tokens[1])}
	return g, nil
}

func (b *budget) refill(plan *driver.Plan, now time.Time) {
	if b.at.IsZero() && !b.fixed {
		b.tokens = [2]float64{float64(plan.LowBurst), float64(plan.Burst)}
	} else if !b.fixed {
		passed := now.Sub(b.at).Seconds()
		b.tokens[0] = min(float64(plan.LowBurst), b.tokens[0]+passed*float64(plan.LowRate))
		b.tokens[1] = min(float64(plan.Burst), b.tokens[1]+passed*float64(plan.Rate))
	}
	b.at = now
}

func (b *budget) short(run driver.Run, now time.Time) (ratelimit.Reason, float64) {
	switch n := float64(run.Size); {
	case b.tokens[1] < n:
		return driver.ReasonGlobal, n - b.tokens[1]
	case run.Priority == ratelimit.Low && b.tokens[0] < n:
		return driver.ReasonLowCap, n - b.tokens[0]
	case run.Priority == ratelimit.Low && now.Before(b.yield):
		return driver.ReasonYield, n
	}
	return "", 0
}

func (b *budget) Return(_ context.Context, plan *driver.Plan, r driver.Returned) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failWith != nil {
		return b.failWith
	}
	b.returned = append(b.returned, r)
	b.granted[r.Priority] -= r.Size
	b.tokens[1] = min(float64(plan.Burst), b.tokens[1]+float64(r.Size))
	if r.Priority == ratelimit.Low {
		b.tokens[0] = min(float64(plan.LowBurst), b.tokens[0]+float64(r.Size))
	}
	return nil
}

func (b *budget) calls() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.asks)
}

// taken returns the calls that were granted and not given back.
func (b *budget) taken() [2]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.granted
}

var usual = ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350}

func limiter(tb testing.TB, store driver.Store, cfg ratelimit.Config) *ratelimit.Limiter {
	tb.Helper()
	if cfg.Limits.Rate == 0 {
		cfg.Limits = usual
	}
	if cfg.Logger == nil {
		cfg.Logger = silent
	}
	l, err := ratelimit.New(store, cfg)
	require.NoError(tb, err)
	return l
}

// gate blocks calls of the store until it is opened.
type gate struct{ open chan struct{} }

func (g *gate) hold(ctx context.Context, _ driver.Ask) error {
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var silent = slog.New(slog.DiscardHandler)

var errAway = errors.New("connection refused")

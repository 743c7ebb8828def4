package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
)

// LimiterResult is how fast a Redis decided, by number of callers.
type LimiterResult struct {
	Runs []LimiterRun `json:"runs"`
}

// LimiterRun is the result for one number of callers.
type LimiterRun struct {
	Callers   int      `json:"callers"`
	Granted   int64    `json:"granted"`
	Refused   int64    `json:"refused"` // by the budget of the benchmark, which is 900,000 a second
	Decisions float64  `json:"decisionsPerSecond"`
	Latency   *Latency `json:"latency"`
}

// Limiter measures decisions about a limit in the Redis of a URL. With an error, the result
// holds the measurements before it.
func Limiter(ctx context.Context, rawURL string, cfg Config) (r LimiterResult, err error) {
	r.Runs = []LimiterRun{}
	if err := cfg.Validate(); err != nil {
		return r, err
	}
	cfg = cfg.withDefaults()
	client, err := redisdb.Open(rawURL, redisdb.Config{})
	if err != nil {
		return r, err
	}
	err = cfg.in(ctx, cfg.inKeys(client), func(ctx context.Context, _ *place) error {
		store, err := redisratelimit.New(client, redisratelimit.Config{Name: cfg.Name})
		if err != nil {
			return err
		}
		limiter, err := ratelimit.New(store, ratelimit.Config{
			Limits: ratelimit.Limits{HardLimit: 1_000_000, Rate: 900_000},
			// Longer than an application's: a pause of the server costs time here, and
			// shows in the latency.
			Timeout: 5 * time.Second, Logger: cfg.Logger,
		})
		if err != nil {
			return err
		}
		for _, callers := range []int{1, 4 * cfg.Callers} {
			cfg.Step(fmt.Sprintf("asking the limiter, %d at a time", callers))
			run, err := cfg.ask(ctx, limiter, callers)
			if run.Granted > 0 {
				r.Runs = append(r.Runs, run)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return r, errors.Join(err, client.Close())
}

// limiterKeys are the mark of a run, and the keys of package redisratelimit for a name.
func (c Config) limiterKeys() []string {
	keys := []string{"{" + c.Name + "}:running"}
	for _, name := range []string{"global", "low_cap", "day", "window", "low_window"} {
		keys = append(keys, "{"+c.Name+"}:"+name)
	}
	return keys
}

func (c Config) inKeys(client redis.UniversalClient) func(context.Context) (*place, error) {
	return func(ctx context.Context) (*place, error) {
		what := "the keys {" + c.Name + "}:*"
		if err := c.claim(ctx, client, what, c.limiterKeys()); err != nil {
			return nil, err
		}
		return &place{what: what, remove: func(ctx context.Context) error { return release(ctx, client, c.limiterKeys()) }}, nil
	}
}

// ask runs callers that ask as fast as they are answered, for the window.
func (c Config) ask(ctx context.Context, l *ratelimit.Limiter, callers int) (LimiterRun, error) {
	var granted, refused atomic.Int64
	var all latencies
	asking, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	end := start.Add(c.Window)
	for range callers {
		asking.Go(func() error {
			var own latencies
			defer func() { all.merge(&own) }()
			for now := time.Now(); now.Before(end); {
				d, err := l.Allow(ctx, ratelimit.High)
				if err != nil {
					return err
				}
				after := time.Now()
				own.add(after.Sub(now))
				now = after
				if !d.Allowed {
					refused.Add(1)
					continue
				}
				if n := granted.Add(1); n%1024 == 0 {
					c.Progress(fmt.Sprintf("%d decisions", n))
				}
			}
			return nil
		})
	}
	err := asking.Wait()
	r := LimiterRun{Callers: callers, Granted: granted.Load(), Refused: refused.Load(), Latency: all.report()}
	r.Decisions = perSecond(r.Granted, time.Since(start))
	return r, err
}

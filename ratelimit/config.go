package ratelimit

import (
	"fmt"
	"log/slog"
	"time"
)

// Config is the configuration of a [Limiter]. Only Limits is required.
type Config struct {
	// Limits are checked by [Limits.Plan]; limits that cannot hold are refused.
	Limits Limits
	// Timeout bounds one call of the store; 100 ms by default. A caller gets its answer within
	// two such calls: one in flight, and its own.
	Timeout time.Duration
	// MaxWaiting is how many callers of Wait there can be at a time; 10,000 by default. A
	// further caller gets [ErrTooManyWaiting].
	MaxWaiting int
	// Breaker refuses at once while the store is down.
	Breaker BreakerConfig
	// Hooks are called for grants, refusals and changes of the breaker.
	Hooks Hooks
	// Logger receives errors that cannot be returned: a grant without a caller that could not
	// be given back, and changes of the breaker. slog.Default() when nil.
	Logger *slog.Logger
}

// BreakerConfig configures the circuit breaker between the limiter and its store.
type BreakerConfig struct {
	// Calls is how many of the last calls count; 10 by default, at most 1000. The breaker opens
	// no earlier than after that many.
	Calls int
	// FailureRatio is the share of failed calls, above 0 and up to 1, that opens the breaker;
	// 0.5 by default.
	FailureRatio float64
	// OpenFor is how long the open breaker refuses without a call; 30 s by default.
	OpenFor time.Duration
	// Trials is how many calls must then succeed to close the breaker; 5 by default. A failed
	// one opens it again.
	Trials int
}

// Hooks are called in the goroutine of the caller that the event concerns, with no lock held.
// They must not block. Any of them can be nil.
type Hooks struct {
	// Acquired is called when n calls were granted at once.
	Acquired func(p Priority, n int)
	// Rejected is called when n calls were refused at once.
	Rejected func(p Priority, reason Reason, n int)
	// BreakerChanged is called after the breaker changed its state.
	BreakerChanged func(from, to BreakerState)
}

func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = 100 * time.Millisecond
	}
	if c.MaxWaiting == 0 {
		c.MaxWaiting = 10_000
	}
	if c.Breaker.Calls == 0 {
		c.Breaker.Calls = 10
	}
	if c.Breaker.FailureRatio == 0 {
		c.Breaker.FailureRatio = 0.5
	}
	if c.Breaker.OpenFor == 0 {
		c.Breaker.OpenFor = 30 * time.Second
	}
	if c.Breaker.Trials == 0 {
		c.Breaker.Trials = 5
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Timeout < 0:
		return fmt.Errorf("ratelimit: Config.Timeout is %s; give a positive duration, or 0 for 100 ms", c.Timeout)
	case c.MaxWaiting < 0:
		return fmt.Errorf("ratelimit: Config.MaxWaiting is %d; give at least 1, or 0 for 10,000", c.MaxWaiting)
	case c.Breaker.Calls < 0 || c.Breaker.Calls > 1000:
		return fmt.Errorf("ratelimit: Config.Breaker.Calls is %d; give 1 to 1000, or 0 for 10", c.Breaker.Calls)
	case !(c.Breaker.FailureRatio >= 0 && c.Breaker.FailureRatio <= 1):
		return fmt.Errorf("ratelimit: Config.Breaker.FailureRatio is %g; give more than 0 and at most 1, or 0 for 0.5", c.Breaker.FailureRatio)
	case c.Breaker.OpenFor < 0:
		return fmt.Errorf("ratelimit: Config.Breaker.OpenFor is %s; give a positive duration, or 0 for 30 s", c.Breaker.OpenFor)
	case c.Breaker.Trials < 0:
		return fmt.Errorf("ratelimit: Config.Breaker.Trials is %d; give at least 1, or 0 for 5", c.Breaker.Trials)
	}
	return nil
}

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
	// BreakerCalls is how many of the last calls of the store the circuit breaker counts; 10
	// by default, at most 1000. It opens no earlier than after that many.
	BreakerCalls int
	// BreakerRatio is the share of failed calls, above 0 and up to 1, that opens the breaker;
	// 0.5 by default.
	BreakerRatio float64
	// BreakerOpenFor is how long the open breaker refuses all callers without a call of the
	// store; 30 s by default.
	BreakerOpenFor time.Duration
	// BreakerTrials is how many calls must then succeed to close the breaker; 5 by default. A
	// failed one opens it again.
	BreakerTrials int
	// OnAcquired is called when n calls were granted at once, OnRejected when n calls were
	// refused at once, and OnBreaker after the breaker changed its state: in the goroutine of
	// the caller that it concerns, with no lock held. They must not block; none by default.
	OnAcquired func(p Priority, n int)
	OnRejected func(p Priority, reason Reason, n int)
	OnBreaker  func(from, to BreakerState)
	// Logger receives errors that cannot be returned: a grant without a caller that could not
	// be given back, and changes of the breaker. slog.Default() when nil.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = 100 * time.Millisecond
	}
	if c.MaxWaiting == 0 {
		c.MaxWaiting = 10_000
	}
	if c.BreakerCalls == 0 {
		c.BreakerCalls = 10
	}
	if c.BreakerRatio == 0 {
		c.BreakerRatio = 0.5
	}
	if c.BreakerOpenFor == 0 {
		c.BreakerOpenFor = 30 * time.Second
	}
	if c.BreakerTrials == 0 {
		c.BreakerTrials = 5
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
	case c.BreakerCalls < 0 || c.BreakerCalls > 1000:
		return fmt.Errorf("ratelimit: Config.BreakerCalls is %d; give 1 to 1000, or 0 for 10", c.BreakerCalls)
	case !(c.BreakerRatio >= 0 && c.BreakerRatio <= 1):
		return fmt.Errorf("ratelimit: Config.BreakerRatio is %g; give more than 0 and at most 1, or 0 for 0.5", c.BreakerRatio)
	case c.BreakerOpenFor < 0:
		return fmt.Errorf("ratelimit: Config.BreakerOpenFor is %s; give a positive duration, or 0 for 30 s", c.BreakerOpenFor)
	case c.BreakerTrials < 0:
		return fmt.Errorf("ratelimit: Config.BreakerTrials is %d; give at least 1, or 0 for 5", c.BreakerTrials)
	}
	return nil
}

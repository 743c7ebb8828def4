package coalesce

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/millrace-go/millrace/fault"
)

// guard wraps the store: it bounds each call and refuses calls at once while the store is
// unavailable.
type guard struct {
	timeout time.Duration
	circuit *gobreaker.TwoStepCircuitBreaker[struct{}]
	refused func(key string, err error)
}

// Verdicts about a call besides nil, which is a success.
var (
	errAway = errors.New("the store is away")
	errMoot = errors.New("the call says nothing about the store")
)

func newGuard(cfg Config, refused func(string, error)) guard {
	return guard{
		timeout: cfg.Timeout, refused: refused,
		circuit: gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
			MaxRequests: uint32(cfg.BreakerTrials), Interval: cfg.BreakerWindow, BucketPeriod: cfg.BreakerWindow / 10, Timeout: cfg.BreakerOpenFor,
			ReadyToTrip: func(n gobreaker.Counts) bool {
				judged := n.TotalSuccesses + n.TotalFailures
				return judged >= uint32(cfg.BreakerCalls) && float64(n.TotalFailures) >= cfg.BreakerRatio*float64(judged)
			},
			OnStateChange: func(_ string, from, to gobreaker.State) {
				if cfg.OnBreaker != nil {
					cfg.OnBreaker(from.String(), to.String())
				}
			},
			IsExcluded: func(err error) bool { return errors.Is(err, errMoot) },
		}),
	}
}

// ask makes one call of the store; what names the call in errors.
func (g guard) ask(ctx context.Context, what, key string, f func(ctx context.Context) error) error {
	done, err := g.circuit.Allow()
	if err != nil {
		return g.refuse(what, key, err)
	}
	verdict := errAway // when f panics
	defer func() { done(verdict) }()
	bounded, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	began := time.Now()
	err = f(bounded)
	verdict = judge(ctx, err, time.Since(began) >= g.timeout/10)
	switch {
	case err == nil:
		return nil
	case errors.Is(verdict, errAway), errors.Is(err, context.DeadlineExceeded):
		return g.refuse(what, key, err)
	default:
		return fmt.Errorf("coalesce: %s %q: %w", what, key, err)
	}
}

// judge decides whether a call shows that the store works. A call that its caller cancelled
// shows nothing, unless its deadline passed after a while: otherwise callers with short
// deadlines would never open the circuit.
func judge(caller context.Context, err error, late bool) error {
	ended := caller.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(ended, context.Canceled), ended != nil && !late:
		return errMoot
	case fault.Of(err) == fault.Infrastructure, errors.Is(err, context.DeadlineExceeded):
		return errAway
	}
	return nil // the store answered
}

func (g guard) refuse(what, key string, err error) error {
	err = fmt.Errorf("coalesce: %s %q: %w: %w", what, key, ErrUnavailable, err)
	g.refused(key, err)
	return err
}

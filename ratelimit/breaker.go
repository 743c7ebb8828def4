package ratelimit

import (
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// BreakerState is the state of the circuit breaker between a limiter and its store: "closed"
// lets all calls through, "open" none, and "half-open" a few as a trial.
type BreakerState string

// breaker is between the limiter and the store. Only the goroutine that makes the limiter's one
// call uses it; all others only read the atomic fields.
type breaker struct {
	circuit *gobreaker.CircuitBreaker[driver.Grant]
	now     func() time.Duration
	openFor time.Duration
	state   atomic.Uint32 // a gobreaker.State
	until   atomic.Int64  // no call before this time of the limiter's clock
	last    outcomes
	changes []breakerChange // since the last call of taken
}

type breakerChange struct{ from, to BreakerState }

func newBreaker(c Config, now func() time.Duration) *breaker {
	b := &breaker{now: now, openFor: c.BreakerOpenFor, last: outcomes{failed: make([]bool, c.BreakerCalls)}}
	threshold := max(1, int(math.Ceil(c.BreakerRatio*float64(c.BreakerCalls)-1e-9)))
	b.circuit = gobreaker.NewCircuitBreaker[driver.Grant](gobreaker.Settings{
		Name: "ratelimit", MaxRequests: uint32(c.BreakerTrials), Timeout: c.BreakerOpenFor,
		// The circuit's own counts begin long before a failure: thousands of successful calls
		// would hide that the last ten failed.
		ReadyToTrip:   func(gobreaker.Counts) bool { return b.last.full() && b.last.failures >= threshold },
		OnStateChange: b.changed,
	})
	return b
}

func (b *breaker) changed(_ string, from, to gobreaker.State) {
	b.last.clear()
	var until time.Duration
	if to == gobreaker.StateOpen {
		until = b.now() + b.openFor
	}
	b.until.Store(int64(until))
	b.state.Store(uint32(to))
	b.changes = append(b.changes, breakerChange{BreakerState(from.String()), BreakerState(to.String())})
}

// standing returns the state as of the last call.
func (b *breaker) standing() BreakerState {
	return BreakerState(gobreaker.State(b.state.Load()).String())
}

// call makes the call unless the breaker is open.
func (b *breaker) call(fn func() (driver.Grant, error)) (driver.Grant, error) {
	g, err := b.circuit.Execute(func() (g driver.Grant, err error) {
		failed := true // also when fn panics
		defer func() { b.last.add(failed) }()
		g, err = fn()
		failed = err != nil
		return g, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		err = errOpen
	}
	return g, err
}

// taken returns the changes of state since its last call.
func (b *breaker) taken() []breakerChange {
	c := b.changes
	b.changes = nil
	return c
}

// refusesFor returns how long the breaker still refuses, 0 if it does not.
func (b *breaker) refusesFor() time.Duration {
	until := b.until.Load()
	if until == 0 {
		return 0
	}
	return max(0, time.Duration(until)-b.now())
}

// outcomes are the outcomes of the last calls.
type outcomes struct {
	failed   []bool
	at, n    int
	failures int
}

func (o *outcomes) add(failed bool) {
	if o.full() && o.failed[o.at] {
		o.failures--
	}
	if failed {
		o.failures++
	}
	o.failed[o.at] = failed
	o.at = (o.at + 1) % len(o.failed)
	o.n = min(o.n+1, len(o.failed))
}

func (o *outcomes) full() bool { return o.n == len(o.failed) }

func (o *outcomes) clear() { o.at, o.n, o.failures = 0, 0, 0 }

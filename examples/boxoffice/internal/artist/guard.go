package artist

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/millrace-go/millrace/fault"
)

// breakerFailures in a row open the breaker.
const breakerFailures = 3

// guard bounds calls of the database and stops them during an outage, so that no
// budget is spent on results that cannot be written. All its errors that are not
// permanent are infrastructure failures: the consumer pauses.
type guard struct {
	circuit  *gobreaker.CircuitBreaker[struct{}]
	timeout  time.Duration
	classify fault.Classifier
}

func newGuard(open, timeout time.Duration, classify fault.Classifier, changed func(from, to string)) *guard {
	g := &guard{timeout: timeout, classify: classify}
	g.circuit = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name: "database", MaxRequests: 1, Timeout: open,
		ReadyToTrip:   func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= breakerFailures },
		OnStateChange: func(_ string, from, to gobreaker.State) { changed(from.String(), to.String()) },
		// A database that refuses data is available.
		IsSuccessful: func(err error) bool { return err == nil || fault.Of(err, classify) == fault.Permanent },
		// A call that the caller cancelled says nothing, and neither does a look that
		// succeeded: reads are quick long after writes have become slow.
		IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) || errors.Is(err, errLooked) },
	})
	return g
}

// do calls fn with a deadline of its own.
func (g *guard) do(ctx context.Context, fn func(ctx context.Context) error) error {
	_, err := g.circuit.Execute(func() (struct{}, error) {
		bounded, cancel := context.WithTimeout(ctx, g.timeout)
		defer cancel()
		err := fn(bounded)
		if err != nil && ctx.Err() == nil && bounded.Err() != nil {
			// Drivers report a timeout in words of their own.
			err = fmt.Errorf("no answer within %v: %w", g.timeout, errors.Join(context.DeadlineExceeded, errors.New(err.Error())))
		}
		return struct{}{}, err
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case fault.Of(err, g.classify) == fault.Permanent:
		return fault.MarkPermanent(err)
	}
	return fault.MarkInfrastructure(fmt.Errorf("artist: the database: %w", err))
}

// look is do for reads: a failure counts, a success does not.
func (g *guard) look(ctx context.Context, fn func(ctx context.Context) error) error {
	err := g.do(ctx, func(ctx context.Context) error {
		if err := fn(ctx); err != nil {
			return err
		}
		return errLooked
	})
	if errors.Is(err, errLooked) {
		return nil
	}
	return err
}

var errLooked = errors.New("read")

// state is 0 closed, 1 half-open, 2 open.
func (g *guard) state() int { return int(g.circuit.State()) }

// Breaker is the state of the breaker before the database: "closed", "half-open"
// or "open".
func (w *Worker) Breaker() string { return w.guard.circuit.State().String() }

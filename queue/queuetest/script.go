package queuetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
)

// failure is the panic that ends a case, as FailNow ends a test: a case is a list of steps,
// of which none follows one that failed.
type failure struct{ error }

// stop ends the case with an error.
func stop(err error) { panic(failure{err}) }

// must ends the case if err is not nil.
func must(err error) {
	if err != nil {
		stop(err)
	}
}

// fail ends the case with how the promise was broken.
func fail(format string, args ...any) { stop(fmt.Errorf(format, args...)) }

// attempt runs steps, and returns how they failed.
func attempt(steps func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			panic(r)
		}
	}()
	steps()
	return nil
}

// within adds to a failure of steps where it was.
func within(where string, steps func()) {
	if err := attempt(steps); err != nil {
		fail("%s: %w", where, err)
	}
}

// play makes a case of steps, which play a new event by [rules].
func play(steps func(p *player)) func(context.Context, Harness) error {
	return func(ctx context.Context, h Harness) error {
		return attempt(func() { steps(newPlayer(ctx, h, rules)) })
	}
}

// refused expects a permanent error.
func refused(what string, err error) {
	if err == nil || fault.Of(err) != fault.Permanent {
		fail("%s: %w; want a permanent error", what, orNil(err))
	}
}

// orNil prints an error that may be nil.
func orNil(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// Package steps lets a case of a conformance suite be written as a list of steps. The first step
// that fails ends the case, as require of testify ends a test, and the case returns its error:
// the suites that users run link no test library, and show by the errors of their cases that a
// broken backend is noticed.
//
//	func release(ctx context.Context, h Harness) (err error) {
//		defer steps.End(&err)
//		lease := steps.Get(h.Log.Lease(ctx, cursor, "me", time.Minute))
//		steps.Do(h.Log.Release(ctx, lease))
//		…
//	}
//
// A case whose steps are methods is run by [Try]. A step is made by the goroutine of the case, and
// not in a function that the backend calls: a failed step is a panic until End or Try.
//
//	property                                              proven by
//	the first failed step is the case's error             TestFirstFailureEndsTheCase, TestNamed, TestStepsOfOthers
//	what deferred calls report comes with it              TestDeferredErrorsAreKept
//	a panic of the backend stays a panic                  TestOtherPanicsGoOn
package steps

import (
	"errors"
	"fmt"
)

// failure is the panic of a failed step.
type failure struct{ err error }

// Do fails the case with an error.
func Do(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Fail fails the case with an error of fmt.Errorf.
func Fail(format string, args ...any) { Do(fmt.Errorf(format, args...)) }

// Named is Do with the name of the step before the error.
func Named(err error, format string, args ...any) {
	if err != nil {
		Do(fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err))
	}
}

// Get fails the case with an error, or returns the value.
func Get[T any](value T, err error) T {
	Do(err)
	return value
}

// Two is Get for two values.
func Two[T, U any](a T, b U, err error) (T, U) {
	Do(err)
	return a, b
}

// Try runs steps, and returns the error that ended them.
func Try(steps func()) (err error) {
	defer End(&err)
	steps()
	return nil
}

// Within runs steps of others. The error that ends them says where it was.
func Within(where string, steps func()) { Named(Try(steps), "%s", where) }

// End is deferred by the case, before anything else. It stores the error of a failed step in
// *err, joined with what other deferred calls have stored there.
func End(err *error) {
	switch p := recover().(type) {
	case nil:
	case failure:
		if *err == nil || errors.Is(p.err, *err) {
			*err = p.err
		} else {
			*err = errors.Join(p.err, *err)
		}
	default:
		panic(p)
	}
}

// Package script writes a case of a conformance suite as a list of steps. A step that finds a
// promise broken ends its case, as FailNow ends a test; the case returns the error, so that the
// suites use no test library:
//
//	func order() error {
//		return script.Try(func() {
//			script.Must(store.Put(ctx, "a"))
//			if got := first(store); got != "a" {
//				script.Fail("the first is %q, want %q", got, "a")
//			}
//		})
//	}
//
// A goroutine that steps start needs a Try of its own.
package script

import "fmt"

// failure is the panic that ends steps.
type failure struct{ error }

// Stop ends the steps with an error.
func Stop(err error) { panic(failure{err}) }

// Must ends the steps if err is not nil.
func Must(err error) {
	if err != nil {
		Stop(err)
	}
}

// Fail ends the steps with an error of fmt.Errorf.
func Fail(format string, args ...any) { Stop(fmt.Errorf(format, args...)) }

// Try runs steps, and returns the error that ended them.
func Try(steps func()) (err error) {
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

// Within runs steps of others. The error that ends them says where it was.
func Within(where string, steps func()) {
	if err := Try(steps); err != nil {
		Fail("%s: %w", where, err)
	}
}

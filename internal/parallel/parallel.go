// Package parallel makes several calls at once.
//
//	property                                  proven by
//	all are called, and all errors returned   TestEach
package parallel

import (
	"errors"
	"sync"
)

// Each calls do for all values at once, waits, and joins the errors in the order of the values.
func Each[T any](all []T, do func(T) error) error {
	errs := make([]error, len(all))
	var calls sync.WaitGroup
	for i, one := range all {
		calls.Go(func() { errs[i] = do(one) })
	}
	calls.Wait()
	return errors.Join(errs...)
}

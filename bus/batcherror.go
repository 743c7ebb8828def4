package bus

import (
	"errors"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/fault"
)

// ErrHeldBack marks, in a [BatchError], a message that a batch handler did not try because an
// earlier message of its key failed. The message is redelivered after the earlier one, and the
// attempt is not counted.
var ErrHeldBack = errors.New("bus: held back behind an earlier message of its key")

// BatchError is the error of a batch handler when only some messages of its batch failed: the
// errors of these messages, by their index in the batch. The messages it does not name are done,
// also those whose error is nil. An error that joins it with others applies to the whole batch.
// Return it outside of a transaction: inside, it would roll back the effects of the messages that
// are then acknowledged.
//
//	failed := bus.BatchError{}
//	for i, e := range events {
//		failed[i] = handle(ctx, e)
//	}
//	return failed.OrNil()
type BatchError map[int]error

// OrNil returns e as an error, or nil when no message failed.
func (e BatchError) OrNil() error {
	if len(e.indexes()) == 0 {
		return nil
	}
	return e
}

// Error names how many messages failed, and the first failure.
func (e BatchError) Error() string {
	indexes := e.indexes()
	if len(indexes) == 0 {
		return "bus: no message of the batch failed"
	}
	return fmt.Sprintf("bus: %d messages of the batch failed; message %d: %v", len(indexes), indexes[0], e[indexes[0]])
}

// Unwrap returns the errors in the order of their messages.
func (e BatchError) Unwrap() []error {
	var all []error
	for _, i := range e.indexes() {
		all = append(all, e[i])
	}
	return all
}

// indexes returns the indexes of the messages that failed, sorted.
func (e BatchError) indexes() []int {
	all := make([]int, 0, len(e))
	for i, err := range e {
		if err != nil {
			all = append(all, i)
		}
	}
	slices.Sort(all)
	return all
}

// partial returns the BatchError that err is or wraps, or nil when err applies to the whole batch:
// it holds none, or another error beside it, such as that of a commit.
func partial(err error) BatchError {
	for err != nil {
		switch e := err.(type) { //nolint:errorlint // each step of the chain is looked at
		case BatchError:
			if e == nil {
				return BatchError{}
			}
			return e
		case wholeError:
			return nil
		case interface{ Unwrap() []error }:
			all := e.Unwrap()
			if len(all) != 1 {
				return nil
			}
			err = all[0]
		default:
			err = errors.Unwrap(err)
		}
	}
	return nil
}

// split returns the BatchError in the error of a handler of n messages, or nil and an error of all
// of them.
func split(err error, n int) (BatchError, error) {
	some := partial(err)
	if some != nil && !some.within(n) {
		// Without the BatchError in its chain: its indexes have no meaning.
		return nil, fault.MarkTransient(fmt.Errorf("bus: the batch of %d has no such message: %v", n, err))
	}
	return some, err
}

// within reports whether every index is one of a batch of n.
func (e BatchError) within(n int) bool {
	for _, i := range e.indexes() {
		if i < 0 || i >= n {
			return false
		}
	}
	return true
}

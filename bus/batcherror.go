package bus

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrHeldBack marks, in a [BatchError], a message that the [BatchHandler] did not try because an
// earlier message of its key failed. The message is redelivered after the earlier one, and the
// attempt is not counted.
var ErrHeldBack = errors.New("bus: held back behind an earlier message of its key")

// BatchError is the error of a [BatchHandler] when only some messages of its batch failed. The
// messages it does not name are done. The zero value is ready to use.
type BatchError struct {
	failed map[int]error
}

// Add records that the message at this index of the batch failed. A nil error is ignored. If an
// index is added twice, the last error counts.
func (e *BatchError) Add(index int, err error) {
	if err == nil {
		return
	}
	if e.failed == nil {
		e.failed = map[int]error{}
	}
	e.failed[index] = err
}

// Of returns the error of the message with this index, or nil.
func (e *BatchError) Of(index int) error { return e.failed[index] }

// OrNil returns e as an error, or nil when no message failed.
func (e *BatchError) OrNil() error {
	if e == nil || len(e.failed) == 0 {
		return nil
	}
	return e
}

// Error names how many messages failed, and the first failure.
func (e *BatchError) Error() string {
	indexes := slices.Sorted(maps.Keys(e.failed))
	if len(indexes) == 0 {
		return "bus: no message of the batch failed"
	}
	return fmt.Sprintf("bus: %d messages of the batch failed; message %d: %v", len(indexes), indexes[0], e.failed[indexes[0]])
}

// Unwrap returns the errors in the order of their messages.
func (e *BatchError) Unwrap() []error {
	var all []error
	for _, i := range slices.Sorted(maps.Keys(e.failed)) {
		all = append(all, e.failed[i])
	}
	return all
}

// within reports whether every index is one of a batch of n.
func (e *BatchError) within(n int) bool {
	for i := range e.failed {
		if i < 0 || i >= n {
			return false
		}
	}
	return true
}

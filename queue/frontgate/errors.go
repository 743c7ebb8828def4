package frontgate

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
)

// The states that a caller can test for.
var (
	// ErrUnavailable says that the store cannot be asked: no visitor gets a
	// position, and none passes. It wraps the cause, and its class is
	// [fault.Infrastructure] unless a retry cannot help.
	ErrUnavailable = errors.New("frontgate: the store cannot be asked; nobody goes on")
	// ErrOff says that the gate is off and gives out no positions: the way is open.
	ErrOff = errors.New("frontgate: the gate is off")
	// ErrLost says that a request id is not valid, or not any more: it was never given out
	// for the event, it is too old, or its counter was lost. Its holder has to ask for a
	// new one.
	ErrLost = errors.New("frontgate: the position is lost; ask for a new one")
)

var (
	errRequest = fmt.Errorf("frontgate: no request id of this event: %w", ErrLost)

	errOld   = errors.New("what is known of the gate is too old")
	errPanic = errors.New("the store panicked")
)

func unavailable(cause error) error {
	err := fmt.Errorf("%w: %w", ErrUnavailable, cause)
	if fault.Of(cause) == fault.Permanent {
		return err
	}
	return fault.MarkInfrastructure(err)
}

// refused classifies why a call has no answer: the caller left, or the store.
func refused(ctx context.Context, cause error) error {
	if ctx.Err() != nil && errors.Is(cause, context.Cause(ctx)) {
		return fmt.Errorf("frontgate: the caller left before it was answered: %w", cause)
	}
	return unavailable(cause)
}

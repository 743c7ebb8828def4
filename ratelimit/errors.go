package ratelimit

import (
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
)

// The states that a caller can test for. A refusal by the budget is not an error: it is a
// [Decision].
var (
	// ErrUnavailable says that the store does not answer, so nothing is granted. Its class is
	// [fault.Infrastructure], and it wraps the cause.
	ErrUnavailable = errors.New("ratelimit: the store cannot be asked; nothing is granted")
	// ErrTooManyWaiting says that Config.MaxWaiting callers wait already.
	ErrTooManyWaiting = errors.New("ratelimit: too many callers wait already")
	// ErrPermitSpent says that a permit has expired, has no use left or was given back.
	// Nothing was written; get another permit.
	ErrPermitSpent = errors.New("ratelimit: the permit cannot be used any more")
)

var (
	errPermitExpired = fmt.Errorf("%w: it has expired", ErrPermitSpent)
	errPermitUsed    = fmt.Errorf("%w: it has no use left, or was given back", ErrPermitSpent)
	errTooLarge      = errors.New("ratelimit: can never be granted at once")
)

var errOpen = errors.New("the circuit breaker is open")

func unavailable(cause error) error {
	return fault.MarkInfrastructure(fmt.Errorf("%w: %w", ErrUnavailable, cause))
}

func gone(cause error) error {
	return fmt.Errorf("ratelimit: the caller left before it was answered: %w", cause)
}

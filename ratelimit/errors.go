package ratelimit

import (
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
)

// The states that a caller can test for. A refusal by the budget is none of
// them: it is a [Decision].
var (
	// ErrUnavailable says that the store cannot be asked, and hence nothing is
	// granted. Its class is [fault.Infrastructure], and it wraps the cause.
	ErrUnavailable = errors.New("ratelimit: the store cannot be asked; nothing is granted")
	// ErrTooManyWaiting says that as many callers wait as Config.MaxWaiting lets.
	ErrTooManyWaiting = errors.New("ratelimit: too many callers wait already")
	// ErrTooLarge says that so many at once can never be granted.
	ErrTooLarge = errors.New("ratelimit: can never be granted at once")
	// ErrPermitExpired says that a permit came too late to its use.
	ErrPermitExpired = errors.New("ratelimit: the permit has expired")
	// ErrPermitUsed says that a permit has no use left, or was given back.
	ErrPermitUsed = errors.New("ratelimit: the permit is used")
)

var errOpen = errors.New("the circuit breaker is open")

func unavailable(cause error) error {
	return fault.MarkInfrastructure(fmt.Errorf("%w: %w", ErrUnavailable, cause))
}

func gone(cause error) error {
	return fmt.Errorf("ratelimit: the caller left before it was answered: %w", cause)
}

package sse

import (
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sse/driver"
)

var (
	// ErrEvicted says that the tab had its stream ended because the member opened
	// more than are allowed. The tab should not come back by itself: answer 204.
	ErrEvicted = driver.ErrEvicted
	// ErrFull says that a stream that was to evict no other ([Stream.OnlyIfFree])
	// found no free place.
	ErrFull = errors.New("sse: no place is free")
	// ErrUnflushable says that the ResponseWriter cannot flush: a client may get the
	// events only when the stream has ended. Its class is [fault.Permanent].
	ErrUnflushable = errors.New("sse: the response writer cannot flush")
	// ErrUnavailable says that streams cannot be opened or kept now.
	ErrUnavailable = errors.New("sse: streams are not available")
	// ErrCrowded says that the process serves as many streams as it may, or has as
	// many of one address.
	ErrCrowded = errors.New("sse: too many streams")
	// ErrDraining says that the hub is not running, or that it is ending.
	ErrDraining = errors.New("sse: the hub takes no streams")
)

// ErrInvalid says that an event, a name or a stream is not valid. Its class is
// [fault.Permanent].
var ErrInvalid = errors.New("sse: invalid")

func invalid(format string, args ...any) error {
	return fault.MarkPermanent(fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...))
}

func unavailable(cause error) error {
	err := fmt.Errorf("%w: %w", ErrUnavailable, cause)
	if fault.Of(cause) == fault.Permanent {
		return fault.MarkPermanent(err)
	}
	return fault.MarkInfrastructure(err)
}

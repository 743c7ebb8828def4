package sse

import (
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sse/driver"
)

var (
	// ErrUnavailable says that the process opens no streams at present: the Cap cannot be
	// asked, the hub is not running or is ending, or there are too many streams. The client
	// was told to come back.
	ErrUnavailable = errors.New("sse: streams are not available")
	// ErrFull says that the member has no place for the tab: its stream was evicted
	// because the member opened more than are allowed, or it wanted a free place
	// ([Stream.OnlyIfFree]) and there is none. The client was told to stay away.
	ErrFull = errors.New("sse: the member has no place for this tab")
)

var (
	errDraining    = fmt.Errorf("%w: the hub is not running, or is ending", ErrUnavailable)
	errCrowded     = fmt.Errorf("%w: there are too many in this process, or of this address", ErrUnavailable)
	errEvicted     = fmt.Errorf("%w: %w", ErrFull, driver.ErrEvicted)
	errInvalid     = errors.New("sse: invalid")
	errUnflushable = errors.New("sse: the response writer cannot flush")
)

// invalid is the error for an event, a name or a stream that is not valid.
func invalid(format string, args ...any) error {
	return fault.MarkPermanent(fmt.Errorf("%w: "+format, append([]any{errInvalid}, args...)...))
}

func unavailable(cause error) error {
	err := fmt.Errorf("%w: %w", ErrUnavailable, cause)
	if fault.Of(cause) == fault.Permanent {
		return fault.MarkPermanent(err)
	}
	return fault.MarkInfrastructure(err)
}

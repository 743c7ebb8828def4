package event

import (
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
)

// ErrTooLarge is returned by a codec for an event or a message beyond its
// MaxSize. Nothing of such a message is parsed.
var ErrTooLarge = errors.New("larger than the codec allows")

// ErrNotEvent is returned by [Decode] for a message whose metadata announces no
// CloudEvent in either mode.
var ErrNotEvent = errors.New("not a CloudEvent")

// AttributeError says which attribute of an event is wrong. Every error about
// the content of an event has one in its chain.
type AttributeError struct {
	// Name is the attribute's name on the wire, such as "subject"; "data" for
	// the data; "document" when a structured message breaks before its first
	// attribute. It is cut after 64 bytes.
	Name string
	// Err says what is wrong with it.
	Err error
}

func (e *AttributeError) Error() string { return e.Name + ": " + e.Err.Error() }
func (e *AttributeError) Unwrap() error { return e.Err }

func wrong(name, format string, args ...any) error {
	return &AttributeError{Name: clip(name), Err: fmt.Errorf(format, args...)}
}

// clip bounds what a stranger can put into an error message.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// tooLarge tells how large, since the one who reads it has to choose a limit.
func tooLarge(size, limit int) error {
	return fmt.Errorf("%w: %d bytes, the limit is %d (MaxSize)", ErrTooLarge, size, limit)
}

func encodeError(e *Event, err error) error {
	return fault.MarkPermanent(fmt.Errorf("event: encode %q %q: %w", clip(e.Type), clip(e.ID), err))
}

func decodeError(messageID string, err error) error {
	return fault.MarkPermanent(fmt.Errorf("event: decode message %q: %w", clip(messageID), err))
}

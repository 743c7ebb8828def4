package event

import (
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
)

// errTooLarge is returned for an event or a message beyond the limit. Such a
// message is not parsed.
var errTooLarge = errors.New("larger than the codec allows")

// ErrNotEvent is returned by [Decode] for a message whose metadata has the marks of neither
// mode of CloudEvents.
var ErrNotEvent = errors.New("not a CloudEvent")

// attributeError names the attribute of an event that is wrong. Every error about the content
// of an event has one in its chain.
type attributeError struct {
	// Name is the attribute's name on the wire, such as "subject"; "data" for the data;
	// "document" if a structured message is broken before its first attribute. Name is
	// truncated after 64 bytes.
	Name string
	// Err is the reason.
	Err error
}

func (e *attributeError) Error() string { return e.Name + ": " + e.Err.Error() }
func (e *attributeError) Unwrap() error { return e.Err }

func wrong(name, format string, args ...any) error {
	return &attributeError{Name: clip(name), Err: fmt.Errorf(format, args...)}
}

// clip bounds the length of foreign text in an error message.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// tooLarge reports the size too, because the reader of the error has to choose a limit.
func tooLarge(size, limit int) error {
	return fmt.Errorf("%w: %d bytes, the limit is %d (MaxSize, or that of DecodeUpTo)", errTooLarge, size, limit)
}

func encodeError(e *Event, err error) error {
	return fault.MarkPermanent(fmt.Errorf("event: encode %q %q: %w", clip(e.Type), clip(e.ID), err))
}

func decodeError(messageID string, err error) error {
	return fault.MarkPermanent(fmt.Errorf("event: decode message %q: %w", clip(messageID), err))
}

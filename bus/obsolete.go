package bus

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
)

// Current returns the newest sequence of a key (event.Event.Key). A consumer with a Current
// acknowledges an event with a lower Sequence without handling it, counts it, and calls
// Hooks.OnObsolete. Current is not called for an event without a Sequence. A message that is not
// an event goes to the handler.
//
// Current is called before the middleware, for every attempt, and may be called from many
// goroutines. If it returns an error, the message fails, and the error is classified like one of
// the handler.
type Current func(ctx context.Context, key string) (uint64, error)

// errObsolete ends an attempt that was skipped.
var errObsolete = errors.New("bus: obsolete")

// skips returns errObsolete for an event that is out of date, or the error of Current.
func (c *consumer) skips(msg *message.Message) error {
	if c.Current == nil {
		return nil
	}
	e, err := event.Decode(msg)
	if err != nil || e.Sequence == 0 {
		return nil // the handler decides
	}
	current, err := c.Current(msg.Context(), e.Key())
	if err != nil {
		return err
	}
	if e.Sequence >= current {
		return nil
	}
	c.skipped(msg, e.Sequence, current)
	return errObsolete
}

func (c *consumer) skipped(msg *message.Message, sequence, current uint64) {
	c.obsolete.Add(1)
	if f := c.Hooks.OnObsolete; f != nil {
		f(Obsolete{Topic: c.Topic, Group: c.Group, Message: msg.CopyWithContext(), Sequence: sequence, Current: current})
	}
}

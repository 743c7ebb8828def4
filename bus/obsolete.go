package bus

import (
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
)

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
		f(Report{Topic: c.Topic, Group: c.Group, Message: msg.CopyWithContext(), Sequence: sequence, Newest: current})
	}
}

package bus

import (
	"context"
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
	old, err := c.outOfDate(msg, func(key string) (uint64, error) { return c.Current(msg.Context(), key) })
	if old {
		return errObsolete
	}
	return err
}

// findObsolete marks the deliveries that are out of date. It calls Current once per key.
func (c *consumer) findObsolete(ctx context.Context, b *batch, messages []*message.Message) (err error) {
	known := map[string]uint64{}
	current := func(key string) (uint64, error) {
		if newest, ok := known[key]; ok {
			return newest, nil
		}
		newest, err := c.Current(ctx, key)
		known[key] = newest
		return newest, err
	}
	for i, m := range messages {
		if b.deliveries[i].obsolete, err = c.outOfDate(m, current); err != nil {
			return err
		}
	}
	return nil
}

// outOfDate reports whether a message is an event that is older than the current sequence of its
// key. It counts and reports such an event.
func (c *consumer) outOfDate(msg *message.Message, current func(key string) (uint64, error)) (bool, error) {
	e, err := event.Decode(msg)
	if err != nil || e.Sequence == 0 {
		return false, nil // the handler decides
	}
	newest, err := current(e.Key())
	if err != nil || e.Sequence >= newest {
		return false, err
	}
	c.obsolete.Add(1)
	if f := c.Hooks.OnObsolete; f != nil {
		f(Report{Topic: c.Topic, Group: c.Group, Message: msg.CopyWithContext(), Sequence: e.Sequence, Newest: newest})
	}
	return true, nil
}

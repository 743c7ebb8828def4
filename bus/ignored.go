package bus

import (
	"context"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/eventlog"
)

// maxUnhandled bounds the type names that a consumer remembers: a producer could use a new type
// for each event.
const maxUnhandled = 100

// ignore records that e has no handler. ctx is the context of its message; outside a Runner,
// ignore does nothing.
func ignore(ctx context.Context, e event.Event) {
	if d := deliveryOf(ctx); d != nil {
		d.ignored = e.Type
	}
}

// ignore reports an event that has no handler.
func (c *consumer) ignore(ctx context.Context, d *delivery) {
	c.ignored.Add(1)
	if c.firstOfType(d.ignored) {
		c.log.InfoContext(ctx, "events of this type are ignored, the consumer has no handler for the type",
			"type", d.ignored, eventlog.Message(d.source))
	}
	if f := c.Hooks.OnIgnored; f != nil {
		f(Report{Topic: c.Topic, Group: c.Group, Message: d.shown(ctx), Type: d.ignored})
	}
}

// firstOfType reports whether the type is to be logged: it was not logged before, and there is
// room.
func (c *consumer) firstOfType(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unhandled[name] || len(c.unhandled) == maxUnhandled {
		return false
	}
	if c.unhandled == nil {
		c.unhandled = map[string]bool{}
	}
	c.unhandled[name] = true
	return true
}

package bus

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/event"
)

// sameGroup refuses the guard of another group: the consumer would acknowledge the events that
// the other group has handled, without an effect of its own.
func sameGroup(topic, group string, guard interface{ Group() string }) error {
	if of := guard.Group(); of != group {
		return fmt.Errorf("bus: consumer %s of %s: its guard records the effects of group %q, so events that %[3]q has handled would have no effect in %[1]q; "+
			"make the guard with Group %[1]q, or the consumer with Group %[3]q", group, topic, of)
	}
	return nil
}

// together makes the error of a guard's handler one of all its events. The guard has rolled all of
// them back, so those that a BatchError does not name are not done either.
func together(handle func(context.Context, []event.Event) error) func(context.Context, []event.Event) error {
	return func(ctx context.Context, events []event.Event) error {
		err := handle(ctx, events)
		if partial(err) != nil {
			err = wholeError{err, len(events)}
		}
		return err
	}
}

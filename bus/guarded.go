package bus

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/event"
)

// Guarded is an event handler behind a guard that gives each event one effect in one group.
// Handle and ByType of idempotency.Guard make one.
type Guarded interface {
	// Group is the consumer group whose effects the guard records. [Runner.Add] refuses a
	// consumer of another group.
	Group() string
	// Handles reports whether events of the type have a handler; others are ignored.
	Handles(eventType string) bool
	// HandleEvent handles an event of a type that Handles reports.
	HandleEvent(ctx context.Context, e event.Event) error
}

// GuardedBatch is Guarded for a [BatchConsumer]. HandleBatch of idempotency.Guard makes one.
type GuardedBatch interface {
	Group() string
	Handles(eventType string) bool
	// HandleEvents handles events of types that Handles reports; see [BatchEventHandler].
	HandleEvents(ctx context.Context, events []event.Event) error
}

// sameGroup refuses the guard of another group: the consumer would acknowledge the events that
// the other group has handled, without an effect of its own.
func sameGroup(topic, group string, guard interface{ Group() string }) error {
	if of := guard.Group(); of != group {
		return fmt.Errorf("bus: consumer %s of %s: its guard records the effects of group %q, so events that %[3]q has handled would have no effect in %[1]q; "+
			"make the guard with Group %[1]q, or the consumer with Group %[3]q", group, topic, of)
	}
	return nil
}

package bus

import "fmt"

// sameGroup refuses the guard of another group: the consumer would acknowledge the events that
// the other group has handled, without an effect of its own.
func sameGroup(topic, group string, guard interface{ Group() string }) error {
	if of := guard.Group(); of != group {
		return fmt.Errorf("bus: consumer %s of %s: its guard records the effects of group %q, so events that %[3]q has handled would have no effect in %[1]q; "+
			"make the guard with Group %[1]q, or the consumer with Group %[3]q", group, topic, of)
	}
	return nil
}

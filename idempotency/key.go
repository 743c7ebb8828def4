package idempotency

import (
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency/driver"
)

// byEvent makes the key {group}:{eventId}: each event takes effect once in each group. It is
// the default.
func byEvent(group string, e event.Event) (string, error) {
	if e.ID == "" {
		return "", fmt.Errorf("idempotency: the %s event has no id to make a key of", e.Type)
	}
	return group + ":" + e.ID, nil
}

// ByAggregate makes the key {group}:{aggregateType}:{aggregateId}:{action}: the action happens
// once per aggregate, for any event that asks for it and however often a producer creates new
// events for it. Action names the effect, such as "refund". Neither the action nor the
// aggregate's type may contain a colon, so a key is unambiguous.
func ByAggregate(action func(e event.Event) string) func(group string, e event.Event) (string, error) {
	return func(group string, e event.Event) (string, error) {
		a := action(e)
		for _, part := range []struct{ name, value string }{
			{"aggregate type", e.AggregateType}, {"aggregate id", e.AggregateID}, {"action", a},
		} {
			if part.value == "" {
				return "", fmt.Errorf("idempotency: the %s event %s has no %s to make a key of", e.Type, e.ID, part.name)
			}
			if part.name != "aggregate id" && strings.Contains(part.value, ":") {
				return "", fmt.Errorf("idempotency: the %s %q of the %s event %s holds a colon, which separates the parts of a key", part.name, part.value, e.Type, e.ID)
			}
		}
		return group + ":" + e.AggregateType + ":" + e.AggregateID + ":" + a, nil
	}
}

// record returns the record of e for the store.
func (c Config) record(e event.Event) (driver.Record, error) {
	key, err := c.Key(c.Group, e)
	if err == nil && key == "" {
		err = driver.ErrEmptyKey
	}
	if err != nil {
		// The same event always gives the same error.
		return driver.Record{}, fault.MarkPermanent(err)
	}
	return driver.Record{Key: key, Group: c.Group, EventType: e.Type, AggregateID: e.AggregateID, EventID: e.ID}, nil
}

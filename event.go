package millrace

import (
	"cmp"
	"context"
	"fmt"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// Event is a Go type that is emitted and handled. Its fields, encoded by encoding/json, are the
// event's data.
type Event interface {
	// Spec returns the type, topic, key and version of the event. Type, Topic and Version must
	// not depend on the value: handlers read them from the zero value.
	Spec() Spec
}

// Spec describes an event: its type, its topic and its key. Type and Topic are required.
type Spec struct {
	Type  string // the name on the wire, e.g. "OrderPlaced"
	Topic string // e.g. "order.events"
	// Key is the ordering key: events of one key are handled in the order of their commits. All
	// events of a topic without a key share one order.
	Key string
	// Aggregate is the kind of object that Key names, e.g. "order"; optional.
	Aggregate string
	Version   string // of the data; "v1" when empty
}

// On returns a Spec of a topic, a type and a key.
func On(topic, typ, key string) Spec { return Spec{Topic: topic, Type: typ, Key: key} }

// Upcaster is an Event that can read older versions of itself.
type Upcaster interface {
	Event
	// Upcast converts data of an older version to the next version and returns that version's
	// name. It is called until the version is the Spec's. An error of Upcast is permanent: the
	// event becomes a dead letter.
	Upcast(version string, data []byte) (newer string, upcast []byte, err error)
}

// maxUpcasts bounds the steps, so that a cycle of upcasts ends.
const maxUpcasts = 100

// Meta returns the envelope of the event that the handler's context belongs to: its id, time,
// correlation and trace. In a batch handler Meta returns the zero Event.
func Meta(ctx context.Context) event.Event {
	e, _ := event.FromContext(ctx)
	return e
}

// validate reports a missing field, and names the type whose Spec has to set it.
func (s Spec) validate(of Event) error {
	switch {
	case s.Type == "":
		return fmt.Errorf("%T.Spec: Type is empty; name the event as consumers know it, such as \"OrderPlaced\"", of)
	case s.Topic == "":
		return fmt.Errorf("%T.Spec: Topic is empty; name the topic that the event goes to, such as \"order.events\"", of)
	}
	return nil
}

// envelope wraps e in the envelope that is published.
func envelope(service string, e Event) (event.Event, Spec, error) {
	spec := e.Spec()
	if err := spec.validate(e); err != nil {
		return event.Event{}, spec, err
	}
	out, err := event.New(spec.Type, service, e)
	if err != nil {
		return event.Event{}, spec, err
	}
	out.AggregateType, out.AggregateID = spec.Aggregate, spec.Key
	out.Version = cmp.Or(spec.Version, out.Version)
	return out, spec, nil
}

// decode returns the event's data as E, upcast to E's version.
func decode[E Event](e event.Event) (E, error) {
	var out E
	if up, ok := any(out).(Upcaster); ok {
		want := cmp.Or(up.Spec().Version, firstVersion)
		for steps := 0; e.Version != want; steps++ {
			if steps == maxUpcasts {
				return out, fault.MarkPermanent(fmt.Errorf("millrace: %T.Upcast has not come to version %s in %d steps", out, want, maxUpcasts))
			}
			version, data, err := up.Upcast(e.Version, e.Data)
			if err != nil {
				return out, fault.MarkPermanent(fmt.Errorf("millrace: upcast %s %s from version %s: %w", e.Type, e.ID, e.Version, err))
			}
			e.Version, e.Data = version, data
		}
	}
	err := e.UnmarshalData(&out)
	return out, err
}

// firstVersion is the version of events whose Spec names none.
const firstVersion = "v1"

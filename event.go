package millrace

import (
	"cmp"
	"context"
	"fmt"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// Event is a Go type that is emitted and handled. Its fields are the event's data, as
// encoding/json writes them.
type Event interface {
	// Spec says how the event travels. Type, Topic and Version must not depend on the
	// value: handlers ask the zero value for them.
	Spec() Spec
}

// Spec is how an event travels. Type and Topic are required.
type Spec struct {
	Type  string // the name on the wire, e.g. "OrderPlaced"
	Topic string // e.g. "order.events"
	// Key orders: events of one key are handled in the order of their commits. Without
	// one all events of the topic that have none are in one order.
	Key string
	// Aggregate is the kind of thing that Key names, e.g. "order"; optional.
	Aggregate string
	Version   string // of the data; "v1" when empty
}

// On is a Spec of a topic, a type and a key.
func On(topic, typ, key string) Spec { return Spec{Topic: topic, Type: typ, Key: key} }

// Upcaster is an Event that reads older versions of itself.
type Upcaster interface {
	Event
	// Upcast brings data of an older version one step forward and names the version that it
	// then has. It is asked until that is Spec's. Its error is permanent: the event becomes
	// a dead letter.
	Upcast(version string, data []byte) (newer string, upcast []byte, err error)
}

// maxUpcasts bounds the steps, so that upcasts in a circle end.
const maxUpcasts = 100

// Meta returns the envelope of the event that a handler's context is about: its id, time,
// correlation and trace. In a batch handler it is the zero Event.
func Meta(ctx context.Context) event.Event {
	e, _ := event.FromContext(ctx)
	return e
}

// validate says what is missing, with the name of the type that has to say it.
func (s Spec) validate(of Event) error {
	switch {
	case s.Type == "":
		return fmt.Errorf("%T.Spec: Type is empty; name the event as consumers know it, such as \"OrderPlaced\"", of)
	case s.Topic == "":
		return fmt.Errorf("%T.Spec: Topic is empty; name the topic that the event goes to, such as \"order.events\"", of)
	}
	return nil
}

// envelope is the event that travels.
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

// decode is the event's data as E, brought forward to E's version.
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

// firstVersion is that of an event whose Spec names none.
const firstVersion = "v1"

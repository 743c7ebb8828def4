package migrating_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/migrating"
	"github.com/millrace-go/millrace/fault"
)

// TestWire reads every field that the old messages carry of an event, and
// refuses other messages permanently.
func TestWire(t *testing.T) {
	e, err := event.New("OrderMoved", "shop", step{Key: "order-1", N: 7})
	must(t, err)
	e.PartitionKey = "order-1"
	m, err := migrating.Wire{}.Encode(e)
	must(t, err)
	if m.UUID != e.ID || string(m.Payload) != `{"key":"order-1","n":7}` {
		t.Errorf("the message is %s %s", m.UUID, m.Payload)
	}
	got, err := migrating.Wire{}.Decode(m)
	must(t, err)
	if got.ID != e.ID || got.Type != e.Type || got.Key() != e.Key() || string(got.Data) != string(e.Data) {
		t.Errorf("%+v became %+v", e, got)
	}
	for name, bad := range map[string]*message.Message{
		"no type": message.NewMessage("1", []byte(`{}`)),
		"no JSON": func() *message.Message {
			m := message.NewMessage("1", []byte(`{`))
			m.Metadata.Set("event_type", "OrderMoved")
			return m
		}(),
	} {
		if _, err := (migrating.Wire{}).Decode(bad); fault.Of(err) != fault.Permanent {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (migrating.Wire{}).Encode(event.Event{}); fault.Of(err) != fault.Permanent {
		t.Errorf("an event without a type: %v", err)
	}
}

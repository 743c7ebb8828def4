package migrating

import (
	"encoding/json"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// Wire writes messages as the old outbox did, so that no
// consumer notices the move: here the payload is the data, and the metadata has the
// event's type and key. If the consumers can be changed first, let them read both
// forms by event.Decode and do without Wire.
type Wire struct{}

// Names of the metadata; keyName is where transports look for the key.
const (
	typeName = "event_type"
	keyName  = "partitionkey"
)

// Encode is for the Encode of outbox.Config.
func (Wire) Encode(e event.Event) (*message.Message, error) {
	if err := e.Validate(); err != nil {
		return nil, fault.MarkPermanent(err)
	}
	m := message.NewMessage(e.ID, e.Data)
	m.Metadata.Set(typeName, e.Type)
	m.Metadata.Set(keyName, e.Key())
	return m, nil
}

// Decode is for the Decode of idempotency.Config.
func (Wire) Decode(m *message.Message) (event.Event, error) {
	e, err := event.New(m.Metadata.Get(typeName), "shop", json.RawMessage(m.Payload))
	if err != nil {
		return event.Event{}, fault.MarkPermanent(fmt.Errorf("message %s: %w", m.UUID, err))
	}
	e.ID, e.PartitionKey = m.UUID, m.Metadata.Get(keyName)
	return e, nil
}

package googlepubsub

import (
	"cmp"

	"cloud.google.com/go/pubsub/v2"
	"github.com/ThreeDotsLabs/watermill-googlecloud/v2/pkg/googlecloud"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
)

// keyless is the ordering key of the messages without a key. They are one key in package bus;
// without an ordering key, the service would deliver them in any order.
const keyless = "millrace-keyless"

// wire is Watermill's wire format with two differences: the key of a message is its ordering
// key, and a message arrives with the metadata that it was published with, and no other.
type wire struct {
	googlecloud.DefaultMarshalerUnmarshaler
}

func (w wire) Marshal(topic string, m *message.Message) (*pubsub.Message, error) {
	out, err := w.DefaultMarshalerUnmarshaler.Marshal(topic, m)
	if err == nil && !driver.IsLetter(m) {
		// Dead letters have no order. With a key, a letter would hide the later letters of the
		// key from a redrive.
		out.OrderingKey = cmp.Or(event.Key(m), keyless)
	}
	return out, err
}

func (w wire) Unmarshal(in *pubsub.Message) (*message.Message, error) {
	m, err := w.DefaultMarshalerUnmarshaler.Unmarshal(in)
	if err == nil {
		// The adapter's own additions would stay in a redriven message, and be wrong there.
		delete(m.Metadata, googlecloud.GoogleMessageIDHeaderKey)
		delete(m.Metadata, "publishTime")
	}
	return m, err
}

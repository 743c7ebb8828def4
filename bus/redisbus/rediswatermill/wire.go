package rediswatermill

import (
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/fault"
)

// lenient is Watermill's marshaler, which delivers entries of other writers with the fields
// that they have. Watermill's subscription ends at an error, and meets it again later.
type lenient struct {
	redisstream.DefaultMarshallerUnmarshaller
}

// Unmarshal implements Watermill's Unmarshaller.
func (l lenient) Unmarshal(values map[string]any) (*message.Message, error) {
	text := func(field string) string {
		s, _ := values[field].(string) //nolint:errcheck // without it, it is empty
		return s
	}
	id, payload := text(redisstream.UUIDHeaderKey), text("payload")
	read, err := l.DefaultMarshallerUnmarshaller.Unmarshal(map[string]any{
		redisstream.UUIDHeaderKey: id, "payload": payload, "metadata": text("metadata"),
	})
	if err != nil {
		read = message.NewMessage(id, []byte(payload)) // its metadata cannot be read
	}
	return read, nil
}

// permanent is a marshaler that marks its errors as permanent.
type permanent struct{ redisstream.Marshaller }

// Marshal implements Watermill's Marshaller.
func (p permanent) Marshal(topic string, m *message.Message) (map[string]any, error) {
	values, err := p.Marshaller.Marshal(topic, m)
	if err != nil {
		return nil, fault.MarkPermanent(err)
	}
	return values, nil
}

package amqpbus

import (
	"fmt"
	"strings"
	"time"

	wamqp "github.com/ThreeDotsLabs/watermill-amqp/v2/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// encode makes what Watermill AMQP would send, and sets the properties that
// RabbitMQ's tools show beside it.
func encode(m *message.Message) (amqp.Publishing, error) {
	p, err := wamqp.DefaultMarshaler{}.Marshal(m)
	if err != nil {
		return p, fault.MarkPermanent(err)
	}
	if err := p.Headers.Validate(); err != nil {
		return p, fault.MarkPermanent(fmt.Errorf("message %s: %w", m.UUID, err))
	}
	p.Timestamp = time.Now()
	p.MessageId = short(m.UUID)
	p.Type = short(typeOf(m))
	p.ContentType = short(m.Metadata[event.ContentTypeHeader])
	limit := maxProperties
	if !bus.IsLetter(m) {
		limit -= bus.LetterBytes
	}
	if size := propertiesSize(p); size > limit {
		return p, fault.MarkPermanent(fmt.Errorf("message %s has %d bytes of metadata; RabbitMQ takes at most %d: put some of it into the payload", m.UUID, size, limit))
	}
	return p, nil
}

// maxProperties is what fits into the one frame that a message's properties have:
// RabbitMQ's default of frame_max without the frame's own bytes. The broker ends the
// connection at a larger one.
const maxProperties = 128<<10 - 64

// propertiesSize is how many bytes the properties of a message have on the wire.
func propertiesSize(p amqp.Publishing) int {
	n := len(p.MessageId) + len(p.Type) + len(p.ContentType) + 64
	for k, v := range p.Headers {
		n += len(k) + 6
		if s, ok := v.(string); ok {
			n += len(s)
		}
	}
	return n
}

// short leaves out what does not fit into a property.
func short(s string) string {
	if len(s) > 255 {
		return ""
	}
	return s
}

// decode makes a message of a delivery. The headers that the broker adds to
// what it delivers again are no metadata, and Watermill's marshaler would refuse
// their types; other types, of foreign publishers, become text.
func decode(d amqp.Delivery) *message.Message {
	headers := make(amqp.Table, len(d.Headers)+1)
	for k, v := range d.Headers {
		switch v := v.(type) {
		case string:
			headers[k] = v
		case []byte:
			headers[k] = string(v)
		case time.Time:
			headers[k] = v.UTC().Format(time.RFC3339Nano)
		default:
			if !brokers(k) {
				headers[k] = fmt.Sprint(v)
			}
		}
	}
	if _, ok := headers[wamqp.DefaultMessageUUIDHeaderKey]; !ok {
		headers[wamqp.DefaultMessageUUIDHeaderKey] = d.MessageId
	}
	d.Headers = headers
	m, err := wamqp.DefaultMarshaler{}.Unmarshal(d)
	if err != nil {
		// It refuses headers that are no text, and these all are.
		m = message.NewMessage(d.MessageId, d.Body)
	}
	if m.Metadata[event.ContentTypeHeader] == "" && d.ContentType != "" {
		m.Metadata[event.ContentTypeHeader] = d.ContentType
	}
	return m
}

// brokers says whether RabbitMQ itself sets a header.
func brokers(name string) bool {
	switch name {
	case "x-delivery-count", "x-acquired-count", "x-death", "x-received-from":
		return true
	}
	return strings.HasPrefix(name, "x-first-death-") || strings.HasPrefix(name, "x-last-death-")
}

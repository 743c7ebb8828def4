package amqpbus

import (
	"fmt"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"

	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// idHeader is the header in which Watermill AMQP keeps a message's UUID. The other headers
// are metadata.
const idHeader = "_watermill_message_uuid"

// encode makes the same publishing as Watermill AMQP, and sets the properties that
// RabbitMQ's tools show beside it.
func encode(m *message.Message) (amqp.Publishing, error) {
	p := amqp.Publishing{Body: m.Payload, DeliveryMode: amqp.Persistent, Headers: make(amqp.Table, len(m.Metadata)+1)}
	for name, value := range m.Metadata {
		if len(name) > maxHeader { // at which the client closes the connection
			return p, fault.MarkPermanent(fmt.Errorf("message %s: the metadata %.60q has a name of %d bytes; RabbitMQ takes at most %d", m.UUID, name, len(name), maxHeader))
		}
		p.Headers[name] = value
	}
	p.Headers[idHeader] = m.UUID
	if err := p.Headers.Validate(); err != nil {
		return p, fault.MarkPermanent(fmt.Errorf("message %s: %w", m.UUID, err))
	}
	p.Timestamp = time.Now()
	p.MessageId = short(m.UUID)
	p.Type = short(typeOf(m))
	p.ContentType = short(m.Metadata[event.ContentTypeHeader])
	limit := maxProperties
	if !busdriver.IsLetter(m) {
		limit -= busdriver.LetterBytes
	}
	if size := propertiesSize(p); size > limit {
		return p, fault.MarkPermanent(fmt.Errorf("message %s has %d bytes of metadata; RabbitMQ takes at most %d: put some of it into the payload", m.UUID, size, limit))
	}
	return p, nil
}

// maxHeader is the most bytes in the name of a header, and in a property.
const maxHeader = 255

// maxProperties is the size of the one frame that holds a message's properties: RabbitMQ's
// default of frame_max without the frame's own bytes. The broker closes the connection at a
// larger one.
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

// short leaves out a value that is too long for a property.
func short(s string) string {
	if len(s) > maxHeader {
		return ""
	}
	return s
}

// messageOf returns the message of a delivery, as Watermill AMQP reads it. Headers that the
// broker adds to redelivered messages, and the list of further routing keys, are not metadata. Values that are not text, of
// foreign publishers, become text.
func messageOf(d amqp.Delivery) busdriver.Message {
	m := busdriver.Message{ID: d.MessageId, Metadata: make(map[string]string, len(d.Headers)), Payload: d.Body}
	for k, v := range d.Headers {
		switch v := v.(type) {
		case string:
			m.Metadata[k] = v
		case []byte:
			m.Metadata[k] = string(v)
		case time.Time:
			m.Metadata[k] = v.UTC().Format(time.RFC3339Nano)
		default:
			if !brokers(k) {
				m.Metadata[k] = fmt.Sprint(v)
			}
		}
	}
	if id, ok := m.Metadata[idHeader]; ok {
		m.ID = id
		delete(m.Metadata, idHeader)
	}
	if m.Metadata[event.ContentTypeHeader] == "" && d.ContentType != "" {
		m.Metadata[event.ContentTypeHeader] = d.ContentType
	}
	return m
}

// brokers reports whether RabbitMQ itself sets a header, or refuses it as text.
func brokers(name string) bool {
	switch name {
	case "CC", "x-delivery-count", "x-acquired-count", "x-death", "x-received-from":
		return true
	}
	return strings.HasPrefix(name, "x-first-death-") || strings.HasPrefix(name, "x-last-death-")
}

package event

import (
	"strconv"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Binding is the prefix that a protocol's binary mode gives to the headers of the attributes.
type Binding string

// The bindings of CloudEvents whose header values are text. Names are read in any case. HTTP
// header values are percent-encoded. AMQP headers are also read with the prefix "cloudEvents:".
const (
	KafkaBinding Binding = "ce_"
	HTTPBinding  Binding = "ce-"
	AMQPBinding  Binding = "cloudEvents_"
)

// amqpColon is the older of AMQP's two prefixes; JMS clients cannot read it.
const amqpColon = "cloudEvents:"

// Binary encodes an event as its data, unchanged; the attributes are in the message's metadata,
// and datacontenttype is [ContentTypeHeader]. Use it when readers want the bare data, or when
// the data is large and not JSON.
type Binary struct {
	// Binding names the metadata; the zero Binding means [KafkaBinding].
	Binding Binding
	// MaxSize is the largest sum in bytes of the data and the attributes, names included, that
	// is written; 0 means 1 MiB.
	MaxSize int
}

// Encode returns the event as a message, with the event's ID as its UUID. Errors are permanent, in
// the sense of package fault.
func (c Binary) Encode(e Event) (*message.Message, error) {
	binding, err := c.binding()
	if err != nil {
		return nil, encodeError(&e, err)
	}
	most := limit(c.MaxSize)
	if len(e.Data) > most {
		return nil, encodeError(&e, tooLarge(len(e.Data), most))
	}
	if err := e.check(); err != nil {
		return nil, encodeError(&e, err)
	}
	if isStructured(e.DataContentType) {
		// A reader would mistake the data for the event.
		return nil, encodeError(&e, wrong("datacontenttype", "%q cannot travel in binary mode", clip(e.DataContentType)))
	}
	msg := message.NewMessage(e.ID, e.Data)
	msg.Metadata = make(message.Metadata, 16+len(e.Extensions))
	size := len(e.Data)
	put := func(name, value string) {
		if binding == HTTPBinding {
			value = percentEncode(value)
		}
		name = string(binding) + name
		msg.Metadata[name] = value
		size += len(name) + len(value)
	}
	put("specversion", specVersion)
	for a := attrID; a < attrEnd; a++ {
		switch a {
		case attrDataContentType:
			if v := e.contentType(); v != "" {
				msg.Metadata[ContentTypeHeader] = v
				size += len(ContentTypeHeader) + len(v)
			}
		case attrTime:
			if !e.Time.IsZero() {
				put("time", e.Time.UTC().Format(time.RFC3339Nano))
			}
		case attrSequence:
			if e.Sequence != 0 {
				put("sequence", strconv.FormatUint(e.Sequence, 10))
			}
		default:
			if v := *e.text(a); v != "" {
				put(attrNames[a], v)
			}
		}
	}
	for name, value := range e.Extensions {
		put(name, value)
	}
	if size > most {
		return nil, encodeError(&e, tooLarge(size, most))
	}
	if key := e.Key(); key != "" {
		msg.Metadata[KeyHeader] = key
	}
	return msg, nil
}

// decode ignores metadata without the binding's prefix.
func (c Binary) decode(msg *message.Message) (Event, error) {
	if msg == nil {
		return Event{}, decodeError("", ErrNotEvent)
	}
	e, err := c.read(msg)
	if err != nil {
		return Event{}, decodeError(msg.UUID, err)
	}
	return e, nil
}

func (c Binary) read(msg *message.Message) (Event, error) {
	binding, err := c.binding()
	if err != nil {
		return Event{}, err
	}
	contentType, hasType := header(msg.Metadata, ContentTypeHeader)
	size := len(msg.Payload)
	if hasType {
		size += len(ContentTypeHeader) + len(contentType)
	}
	for k, v := range msg.Metadata {
		if _, ok := binding.attribute(k); ok {
			size += len(k) + len(v)
		}
	}
	if most := limit(c.MaxSize); size > most {
		return Event{}, tooLarge(size, most)
	}

	var b builder
	if hasType {
		if isStructured(contentType) {
			return Event{}, wrong("datacontenttype", "%q is not the type of data, but of an event format", clip(contentType))
		}
		b.seen |= 1 << attrDataContentType
		b.event.DataContentType = contentType
	}
	var first error
	var at string // the header of the first error
	for k, v := range msg.Metadata {
		name, ok := binding.attribute(k)
		if !ok {
			continue
		}
		if binding == HTTPBinding {
			v = percentDecode(v)
		}
		// The order of a map is random; the same message must always give the same error.
		if err := b.add(lower(name), v); err != nil && (first == nil || k < at) {
			first, at = err, k
		}
	}
	if first != nil {
		return Event{}, first
	}
	b.event.Data = msg.Payload[:len(msg.Payload):len(msg.Payload)]
	return b.finish(false)
}

func (c Binary) binding() (Binding, error) {
	switch c.Binding {
	case "":
		return KafkaBinding, nil
	case KafkaBinding, HTTPBinding, AMQPBinding:
		return c.Binding, nil
	}
	return "", wrong("specversion", "unknown binding %q: use KafkaBinding, HTTPBinding or AMQPBinding", clip(string(c.Binding)))
}

// attribute returns the name behind the prefix of a metadata name.
func (b Binding) attribute(name string) (string, bool) {
	if rest, ok := cutPrefix(name, string(b)); ok {
		return rest, true
	}
	if b == AMQPBinding {
		return cutPrefix(name, amqpColon)
	}
	return "", false
}

// header returns the value of an attribute among the metadata.
func (b Binding) header(m message.Metadata, a attr) (string, bool) {
	v, ok := header(m, string(b)+attrNames[a])
	if !ok && b == AMQPBinding {
		v, ok = header(m, amqpColon+attrNames[a])
	}
	if ok && b == HTTPBinding {
		v = percentDecode(v)
	}
	return v, ok
}

// cutPrefix is strings.CutPrefix in any case.
func cutPrefix(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return "", false
	}
	return s[len(prefix):], true
}

package event

import (
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Metadata names that both encoders set.
const (
	// KeyHeader holds the event's [Event.Key] when it has one: what a transport
	// orders by, readable without decoding the payload.
	KeyHeader = "partitionkey"
	// ContentTypeHeader holds the media type of the payload: the structured
	// format's, or in binary mode the data's own.
	ContentTypeHeader = "content-type"
)

// DefaultMaxSize is the size limit of a codec that sets none: 1 MiB, which is
// also what Kafka's brokers accept by default.
const DefaultMaxSize = 1 << 20

// Codec turns events into messages and back. [Structured] and [Binary] are the
// two modes of CloudEvents. The UUID of an encoded message is the event's ID.
// Errors are permanent, in the sense of package fault.
//
// The data of a decoded event shares the bytes of the message's payload.
type Codec interface {
	Encode(Event) (*message.Message, error)
	Decode(*message.Message) (Event, error)
}

var (
	_ Codec = Structured{}
	_ Codec = Binary{}
)

// Decode reads a message in either mode and any binding, as its metadata says:
// a content type of application/cloudevents+json is structured mode, a
// specversion header is binary mode of the binding that names headers so. A
// message with neither is [ErrNotEvent]. The limit is [DefaultMaxSize]; a codec
// with another MaxSize reads larger messages.
func Decode(msg *message.Message) (Event, error) {
	if msg == nil {
		return Event{}, decodeError("", ErrNotEvent)
	}
	contentType, _ := header(msg.Metadata, ContentTypeHeader)
	if isStructured(contentType) {
		if m := mediaType(contentType); m != structuredJSON {
			return Event{}, decodeError(msg.UUID,
				wrong("datacontenttype", "the event format %q is not supported, only %s is", clip(m), structuredJSON))
		}
		return Structured{}.Decode(msg)
	}
	for _, b := range [...]Binding{KafkaBinding, HTTPBinding, AMQPBinding} {
		if _, ok := b.header(msg.Metadata, attrSpecVersion); ok {
			return Binary{Binding: b}.Decode(msg)
		}
	}
	return Event{}, decodeError(msg.UUID, wrong("specversion",
		"%w: neither a content type of %s nor a specversion header", ErrNotEvent, structuredJSON))
}

// Key returns what orders a message, without decoding its payload: the
// [KeyHeader] that every encoder here sets, else the partitionkey or subject
// header of a foreign producer's binary mode, else "".
func Key(msg *message.Message) string {
	if v := msg.Metadata[KeyHeader]; v != "" {
		return v
	}
	if v, _ := header(msg.Metadata, KeyHeader); v != "" {
		return v
	}
	for _, a := range [...]attr{attrPartitionKey, attrSubject} {
		for _, b := range [...]Binding{KafkaBinding, HTTPBinding, AMQPBinding} {
			if v, _ := b.header(msg.Metadata, a); v != "" {
				return v
			}
		}
	}
	return ""
}

// header looks a metadata name up, as it stands first, then in any case, since
// HTTP servers change it.
func header(m message.Metadata, name string) (string, bool) {
	if v, ok := m[name]; ok {
		return v, true
	}
	for k, v := range m {
		if len(k) == len(name) && strings.EqualFold(k, name) {
			return v, true
		}
	}
	return "", false
}

func limit(maxSize int) int {
	if maxSize <= 0 {
		return DefaultMaxSize
	}
	return maxSize
}

package event

import (
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Metadata names that both encoders set.
const (
	// KeyHeader holds the event's [Event.Key] when it has one. A transport orders messages by
	// this header without decoding the payload.
	KeyHeader = "partitionkey"
	// ContentTypeHeader holds the media type of the payload: that of the structured format, or
	// in binary mode that of the data.
	ContentTypeHeader = "content-type"
)

// defaultMaxSize is the size limit without a MaxSize: 1 MiB, also the default limit of Kafka's
// brokers.
const defaultMaxSize = 1 << 20

// Decode reads a message in either mode and any binding, chosen by the metadata. The content
// type application/cloudevents+json means structured mode; a specversion header means binary
// mode, of the binding that has such header names. A message with neither is [ErrNotEvent]. The
// limit is 1 MiB; [DecodeUpTo] has another. Errors are permanent, in the sense of package fault.
//
// The data of the event shares the bytes of the message's payload.
func Decode(msg *message.Message) (Event, error) { return DecodeUpTo(msg, defaultMaxSize) }

// DecodeUpTo is [Decode] with another limit in bytes: of the payload in structured mode; in binary
// mode of the sum of the data and the attributes, names included. A larger message is refused
// before it is parsed.
func DecodeUpTo(msg *message.Message, maxSize int) (Event, error) {
	if msg == nil {
		return Event{}, decodeError("", ErrNotEvent)
	}
	contentType, _ := header(msg.Metadata, ContentTypeHeader)
	if isStructured(contentType) {
		if m := mediaType(contentType); m != structuredJSON {
			return Event{}, decodeError(msg.UUID,
				wrong("datacontenttype", "the event format %q is not supported, only %s is", clip(m), structuredJSON))
		}
		return Structured{MaxSize: maxSize}.decode(msg)
	}
	for _, b := range [...]Binding{KafkaBinding, HTTPBinding, AMQPBinding} {
		if _, ok := b.header(msg.Metadata, attrSpecVersion); ok {
			return Binary{Binding: b, MaxSize: maxSize}.decode(msg)
		}
	}
	return Event{}, decodeError(msg.UUID, wrong("specversion",
		"%w: neither a content type of %s nor a specversion header", ErrNotEvent, structuredJSON))
}

// Key returns the ordering key of a message without decoding its payload: the [KeyHeader] that
// every encoder here sets, else the partitionkey or subject header of a foreign producer's
// binary mode, else "".
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

// header looks up a metadata name, first as it is, then in any case, since HTTP servers change
// the case.
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
		return defaultMaxSize
	}
	return maxSize
}

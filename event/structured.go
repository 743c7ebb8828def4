package event

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/fault"
)

// Structured encodes an event as one JSON document, attributes and data together:
// application/cloudevents+json. It works on every transport, since only the payload has to
// arrive. The outbox stores this form by default.
//
// JSON data (application/json and text/json) is in the document byte for byte; any other data
// is in data_base64. The document's attributes have a fixed order and its extensions are
// sorted, so equal events have equal encodings.
type Structured struct {
	// MaxSize is the largest payload in bytes that is written; 0 means 1 MiB.
	MaxSize int
}

// Encode returns the event as a message, with the event's ID as its UUID. Errors are permanent, in
// the sense of package fault.
func (c Structured) Encode(e Event) (*message.Message, error) {
	most := limit(c.MaxSize)
	if len(e.Data) > most {
		return nil, encodeError(&e, tooLarge(len(e.Data), most))
	}
	if err := e.check(); err != nil {
		return nil, encodeError(&e, err)
	}
	doc := e.appendJSON(make([]byte, 0, e.jsonSize()))
	if len(doc) > most {
		return nil, encodeError(&e, tooLarge(len(doc), most))
	}
	msg := message.NewMessage(e.ID, doc)
	msg.Metadata[ContentTypeHeader] = structuredJSON
	if key := e.Key(); key != "" {
		msg.Metadata[KeyHeader] = key
	}
	return msg, nil
}

// decode ignores the metadata; [Decode] chooses the mode by it.
func (c Structured) decode(msg *message.Message) (Event, error) {
	if msg == nil {
		return Event{}, decodeError("", ErrNotEvent)
	}
	if most := limit(c.MaxSize); len(msg.Payload) > most {
		return Event{}, decodeError(msg.UUID, tooLarge(len(msg.Payload), most))
	}
	e, err := parse(msg.Payload)
	if err != nil {
		return Event{}, decodeError(msg.UUID, err)
	}
	return e, nil
}

// MarshalJSON returns the structured JSON document of the event, without a size
// limit.
func (e Event) MarshalJSON() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, encodeError(&e, err)
	}
	return e.appendJSON(make([]byte, 0, e.jsonSize())), nil
}

// UnmarshalJSON reads a structured JSON document, without a size limit: for documents that do not
// come in a message, or whose transport loses the metadata.
func (e *Event) UnmarshalJSON(doc []byte) error {
	if string(doc) == "null" {
		return nil
	}
	parsed, err := parse(doc)
	if err != nil {
		return fault.MarkPermanent(fmt.Errorf("event: decode: %w", err))
	}
	parsed.Data = slices.Clone(parsed.Data) // doc belongs to the caller
	*e = parsed
	return nil
}

// jsonSize is the size of the document or slightly more: characters that need escaping are
// rare, and attributes are short.
func (e *Event) jsonSize() int {
	n := len(`{"specversion":"1.0","time":"2006-01-02T15:04:05.999999999Z","sequence":"18446744073709551615"}`) +
		len(`,"datacontenttype":"`+jsonType+`"`) // the default
	for a := attrID; a < attrEnd; a++ {
		if v := e.text(a); v != nil && *v != "" {
			n += len(`,"":""`) + len(attrNames[a]) + len(*v)
		}
	}
	for name, value := range e.Extensions {
		n += len(`,"":""`) + len(name) + len(value)
	}
	if isInline(e.DataContentType) {
		return n + len(`,"data":`) + len(e.Data)
	}
	return n + len(`,"data_base64":""`) + base64.StdEncoding.EncodedLen(len(e.Data))
}

// appendJSON appends the document of a valid event. json.Marshal would scan and copy the data a
// second time, and could not merge the extensions into the object.
func (e *Event) appendJSON(b []byte) []byte {
	b = append(b, `{"specversion":"1.0"`...)
	for a := attrID; a < attrEnd; a++ {
		switch a {
		case attrTime:
			if !e.Time.IsZero() {
				b = append(b, `,"time":"`...)
				b = e.Time.UTC().AppendFormat(b, time.RFC3339Nano)
				b = append(b, '"')
			}
		case attrSequence:
			if e.Sequence != 0 {
				b = append(b, `,"sequence":"`...)
				b = strconv.AppendUint(b, e.Sequence, 10)
				b = append(b, '"')
			}
		case attrDataContentType:
			if v := e.contentType(); v != "" {
				b = appendMember(b, attrNames[a], v)
			}
		default:
			if v := *e.text(a); v != "" {
				b = appendMember(b, attrNames[a], v)
			}
		}
	}
	if len(e.Extensions) > 0 {
		for _, name := range slices.Sorted(maps.Keys(e.Extensions)) {
			b = appendMember(b, name, e.Extensions[name])
		}
	}
	switch {
	case len(e.Data) == 0:
	case isInline(e.DataContentType):
		b = append(b, `,"data":`...)
		b = append(b, e.Data...)
	default:
		b = append(b, `,"data_base64":"`...)
		b = base64.StdEncoding.AppendEncode(b, e.Data)
		b = append(b, '"')
	}
	return append(b, '}')
}

// appendMember writes a member whose name needs no escaping.
func appendMember(b []byte, name, value string) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return appendString(b, value)
}

// appendString appends a JSON string of valid UTF-8: unchanged if nothing needs escaping, else
// escaped by encoding/json.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // a string always marshals
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

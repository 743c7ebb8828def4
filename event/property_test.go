package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/internal/draw"
)

var extensionNames = rapid.StringMatching(`[a-z0-9]{1,20}`).Filter(func(s string) bool {
	return s != "data" && lookup(s) == attrExtension
})

// anyEvent draws any valid event.
func anyEvent() *rapid.Generator[Event] {
	return rapid.Custom(func(t *rapid.T) Event {
		e := Event{
			ID:            draw.Text().Filter(draw.NotBlank).Draw(t, "id"),
			Type:          draw.Text().Filter(draw.NotBlank).Draw(t, "type"),
			Source:        rapid.OneOf(draw.Text(), rapid.StringMatching(`(https?://[a-z.]{1,9}|urn:[a-z]{1,5}:|)[A-Za-z0-9/._~%?#&=-]{0,9}`)).Filter(draw.NotBlank).Filter(isURIReference).Draw(t, "source"),
			Time:          draw.Instant().Draw(t, "time"),
			AggregateType: draw.Text().Draw(t, "aggregatetype"),
			AggregateID:   draw.Maybe(draw.Text().Filter(draw.NotBlank)).Draw(t, "subject"),
			PartitionKey:  draw.Text().Draw(t, "partitionkey"),
			Version:       draw.Text().Draw(t, "dataversion"),
			Sequence:      rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64()).Draw(t, "sequence"),
			CorrelationID: draw.Text().Draw(t, "correlationid"),
			CausationID:   draw.Text().Draw(t, "causationid"),
			ActorID:       draw.Text().Draw(t, "actorid"),
			TargetID:      draw.Text().Draw(t, "targetid"),
			RefID:         draw.Text().Draw(t, "refid"),
			Priority:      rapid.SampledFrom([]Priority{"", High, Low}).Draw(t, "priority"),
			TraceParent:   draw.Text().Draw(t, "traceparent"),
			TraceState:    draw.Text().Draw(t, "tracestate"),
			DataSchema:    draw.Maybe(rapid.StringMatching(`(https?://[a-z.]{1,9}/|urn:[a-z]{1,5}:)[A-Za-z0-9/._~?#&=-]{0,9}`)).Draw(t, "dataschema"),
			Extensions:    rapid.MapOfN(extensionNames, draw.Text(), 0, 4).Draw(t, "extensions"),
		}
		e.DataContentType = rapid.SampledFrom([]string{"", jsonType, "application/json; charset=utf-8", "text/json", "application/vnd.seat+json", "text/plain", "application/xml; a=b", octetStream}).Draw(t, "datacontenttype")
		if rapid.Bool().Draw(t, "data") {
			if isJSON(e.DataContentType) {
				e.Data = draw.JSON().Draw(t, "json")
			} else {
				e.Data = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
			}
		}
		return e
	})
}

// canonical returns the event after encoding and decoding: defaults are explicit, empty is nil,
// the time is UTC, and white space around JSON in a document is removed.
func canonical(e Event, inline bool) Event {
	e.DataContentType = e.contentType()
	e.Time = e.Time.UTC()
	if len(e.Data) == 0 {
		e.Data = nil
	}
	if len(e.Extensions) == 0 {
		e.Extensions = nil
	}
	if inline && isInline(e.DataContentType) && e.Data != nil {
		e.Data = bytes.Trim(e.Data, " \t\r\n")
	}
	return e
}

func diff(got, want Event) error {
	if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); g != w {
		return fmt.Errorf("events differ\n got %s\nwant %s", g, w)
	}
	return nil
}

func TestRoundTripStructured(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent().Draw(t, "event")
		msg, err := Structured{}.Encode(e)
		require.NoError(t, err)
		if !json.Valid(msg.Payload) {
			t.Fatalf("not JSON: %q", msg.Payload)
		}
		if cap(msg.Payload) > len(msg.Payload)+200 && !strings.ContainsAny(string(msg.Payload), `\`) {
			t.Fatalf("a document of %d bytes was estimated as %d", len(msg.Payload), cap(msg.Payload))
		}
		if msg.UUID != e.ID || Key(msg) != e.Key() {
			t.Fatalf("message %q with key %q", msg.UUID, Key(msg))
		}
		got, err := Decode(msg)
		if err != nil {
			t.Fatalf("%v\n%s", err, msg.Payload)
		}
		require.NoError(t, diff(got, canonical(e, true)))
		again, err := Structured{}.Encode(got)
		require.NoError(t, err)
		if want := msg.Payload; isInline(e.DataContentType) { // white space around data
			if len(again.Payload) > len(want) {
				t.Fatalf("the document grew\n got %s\nwant %s", again.Payload, want)
			}
		} else if !bytes.Equal(again.Payload, want) {
			t.Fatalf("encoding is not stable\n got %s\nwant %s", again.Payload, want)
		}
	})
}

func TestRoundTripBinary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent().Draw(t, "event")
		codec := Binary{Binding: rapid.SampledFrom([]Binding{"", KafkaBinding, HTTPBinding, AMQPBinding}).Draw(t, "binding")}
		msg, err := codec.Encode(e)
		require.NoError(t, err)
		if !bytes.Equal(msg.Payload, e.Data) {
			t.Fatalf("the data changed: %q", msg.Payload)
		}
		if msg.UUID != e.ID || Key(msg) != e.Key() {
			t.Fatalf("message %q with key %q", msg.UUID, Key(msg))
		}
		got, err := Decode(msg)
		if err != nil {
			t.Fatalf("%v\n%v", err, msg.Metadata)
		}
		require.NoError(t, diff(got, canonical(e, false)))
	})
}

func TestRoundTripJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent().Draw(t, "event")
		doc, err := json.Marshal(e)
		require.NoError(t, err)
		var got Event
		require.NoError(t, json.Unmarshal(doc, &got))
		want := canonical(e, true)
		if isInline(want.DataContentType) && want.Data != nil { // json.Marshal compacts and escapes
			var a, b any
			require.NoError(t, json.Unmarshal(got.Data, &a))
			require.NoError(t, json.Unmarshal(want.Data, &b))
			require.Equalf(t, fmt.Sprintf("%#v", b), fmt.Sprintf("%#v", a), "data %s, want %s", got.Data, want.Data)
			got.Data, want.Data = nil, nil
		}
		require.NoError(t, diff(got, want))
	})
}

func TestPercentEncoding(t *testing.T) {
	for plain, encoded := range map[string]string{
		"Euro € 😀": "Euro%20%E2%82%AC%20%F0%9F%98%80", // the binding's own example
		"!~":       "!~",
		"\x7f":     "%7F",
		`"%"`:      "%22%25%22",
	} {
		assert.Equalf(t, encoded, percentEncode(plain), "encode %q", plain)
		assert.Equalf(t, plain, percentDecode(encoded), "decode %q", encoded)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		encoded := percentEncode(s)
		for i := range len(encoded) {
			if c := encoded[i]; c < 0x21 || c > 0x7e || c == '"' {
				t.Fatalf("%q in %q", c, encoded)
			}
		}
		if got := percentDecode(encoded); got != s {
			t.Fatalf("%q became %q by %q", s, got, encoded)
		}
	})
}

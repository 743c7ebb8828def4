package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// text draws what the String type of CloudEvents allows, with a liking for the
// characters that some encoding has to escape.
func text() *rapid.Generator[string] {
	r := rapid.OneOf(
		rapid.SampledFrom([]rune(`abcXYZ019 "\%/:;,=<>&'{}[]`+"é서울🎟\u2028\u2029\ufeff\ufffd")),
		rapid.Rune().Filter(func(r rune) bool {
			return !unicode.IsControl(r) && r&0xfffe != 0xfffe && (r < 0xfdd0 || r > 0xfdef) && utf8.ValidRune(r)
		}),
	)
	return rapid.StringOfN(r, 0, 12, -1)
}

func notBlank(s string) bool { return !blank(s) }

func maybe(g *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just(""), g)
}

// instant draws any time that RFC 3339 can write, in any zone.
func instant() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "no time") {
			return time.Time{}
		}
		from, to := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
		sec := rapid.Int64Range(from.Unix(), to.Unix()).Draw(t, "sec")
		nsec := rapid.SampledFrom([]int64{0, 1, 1000, 120_000_000, 999_999_999}).Draw(t, "nsec")
		zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "zone"))
		return time.Unix(sec, nsec).In(zone)
	})
}

// jsonText draws any JSON, compact, indented or with white space around it.
func jsonText() *rapid.Generator[[]byte] {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		scalar := rapid.OneOf(
			rapid.Just[any](nil),
			rapid.Map(rapid.Bool(), func(v bool) any { return v }),
			rapid.Map(rapid.Int64(), func(v int64) any { return v }),
			rapid.Map(rapid.Float64Range(-1e300, 1e300), func(v float64) any { return v }),
			rapid.Map(rapid.String(), func(v string) any { return v }),
		)
		if depth == 0 {
			return scalar
		}
		return rapid.OneOf(scalar,
			rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), func(v []any) any { return v }),
			rapid.Map(rapid.MapOfN(rapid.String(), value(depth-1), 0, 3), func(v map[string]any) any { return v }),
		)
	}
	return rapid.Custom(func(t *rapid.T) []byte {
		v := value(3).Draw(t, "value")
		switch rapid.IntRange(0, 2).Draw(t, "form") {
		case 0:
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return b
		case 1:
			b, err := json.MarshalIndent(v, "", "\t")
			if err != nil {
				t.Fatal(err)
			}
			return b
		default:
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(v); err != nil {
				t.Fatal(err)
			}
			return append([]byte(" \r\n"), b.Bytes()...)
		}
	})
}

var extensionNames = rapid.StringMatching(`[a-z0-9]{1,20}`).Filter(func(s string) bool {
	return s != "data" && lookup(s) == attrExtension
})

// anyEvent draws any valid event.
func anyEvent() *rapid.Generator[Event] {
	return rapid.Custom(func(t *rapid.T) Event {
		e := Event{
			ID:            text().Filter(notBlank).Draw(t, "id"),
			Type:          text().Filter(notBlank).Draw(t, "type"),
			Source:        rapid.OneOf(text(), rapid.StringMatching(`(https?://[a-z.]{1,9}|urn:[a-z]{1,5}:|)[A-Za-z0-9/._~%?#&=-]{0,9}`)).Filter(notBlank).Filter(isURIReference).Draw(t, "source"),
			Time:          instant().Draw(t, "time"),
			AggregateType: text().Draw(t, "aggregatetype"),
			AggregateID:   maybe(text().Filter(notBlank)).Draw(t, "subject"),
			PartitionKey:  text().Draw(t, "partitionkey"),
			Version:       text().Draw(t, "dataversion"),
			Sequence:      rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64()).Draw(t, "sequence"),
			CorrelationID: text().Draw(t, "correlationid"),
			CausationID:   text().Draw(t, "causationid"),
			ActorID:       text().Draw(t, "actorid"),
			TargetID:      text().Draw(t, "targetid"),
			RefID:         text().Draw(t, "refid"),
			Priority:      rapid.SampledFrom([]Priority{"", High, Low}).Draw(t, "priority"),
			TraceParent:   text().Draw(t, "traceparent"),
			TraceState:    text().Draw(t, "tracestate"),
			DataSchema:    maybe(rapid.StringMatching(`(https?://[a-z.]{1,9}/|urn:[a-z]{1,5}:)[A-Za-z0-9/._~?#&=-]{0,9}`)).Draw(t, "dataschema"),
			Extensions:    rapid.MapOfN(extensionNames, text(), 0, 4).Draw(t, "extensions"),
		}
		e.DataContentType = rapid.SampledFrom([]string{"", JSON, "application/json; charset=utf-8", "text/json", "application/vnd.seat+json", "text/plain", "application/xml; a=b", octetStream}).Draw(t, "datacontenttype")
		if rapid.Bool().Draw(t, "data") {
			if isJSON(e.DataContentType) {
				e.Data = jsonText().Draw(t, "json")
			} else {
				e.Data = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
			}
		}
		return e
	})
}

// canonical is what an event looks like after it was encoded and decoded: the
// defaults are explicit, empty is nil, the time is UTC, and white space around
// JSON that stood in a document is gone.
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
		if err != nil {
			t.Fatal(err)
		}
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
		if err := diff(got, canonical(e, true)); err != nil {
			t.Fatal(err)
		}
		again, err := Structured{}.Encode(got)
		if err != nil {
			t.Fatal(err)
		}
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
		if err != nil {
			t.Fatal(err)
		}
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
		if err := diff(got, canonical(e, false)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRoundTripJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent().Draw(t, "event")
		doc, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var got Event
		if err := json.Unmarshal(doc, &got); err != nil {
			t.Fatal(err)
		}
		want := canonical(e, true)
		if isInline(want.DataContentType) && want.Data != nil { // json.Marshal compacts and escapes
			var a, b any
			if err := json.Unmarshal(got.Data, &a); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(want.Data, &b); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprintf("%#v", a) != fmt.Sprintf("%#v", b) {
				t.Fatalf("data %s, want %s", got.Data, want.Data)
			}
			got.Data, want.Data = nil, nil
		}
		if err := diff(got, want); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPercentEncoding(t *testing.T) {
	for plain, encoded := range map[string]string{
		"Euro € 😀": "Euro%20%E2%82%AC%20%F0%9F%98%80", // the binding's own example
		"!~":       "!~",
		"\x7f":     "%7F",
		`"%"`:      "%22%25%22",
	} {
		if got := percentEncode(plain); got != encoded {
			t.Errorf("encode %q: %q, want %q", plain, got, encoded)
		}
		if got := percentDecode(encoded); got != plain {
			t.Errorf("decode %q: %q, want %q", encoded, got, plain)
		}
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

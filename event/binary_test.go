package event

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
)

// fullHeaders returns the attributes of full() as every binding writes them, except for the two
// extensions that HTTP encodes.
func fullHeaders(prefix string) map[string]string {
	return map[string]string{
		prefix + "specversion":   "1.0",
		prefix + "id":            "0190163d-8694-739b-aea5-966c26f8ad90",
		prefix + "source":        "boxoffice/payments",
		prefix + "type":          "PaymentSuccess",
		prefix + "subject":       "res-1042",
		prefix + "time":          "2026-03-01T19:30:00.123456789Z",
		prefix + "dataschema":    "https://millrace.example/schemas/payment.json",
		prefix + "aggregatetype": "reservation",
		prefix + "partitionkey":  "user-7",
		prefix + "dataversion":   "v2",
		prefix + "sequence":      "18446744073709551615",
		prefix + "correlationid": "req-99",
		prefix + "causationid":   "0190163d-0000-7000-8000-000000000001",
		prefix + "actorid":       "user-7",
		prefix + "targetid":      "user-8",
		prefix + "refid":         "post-3",
		prefix + "priority":      "HIGH",
		prefix + "traceparent":   "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		prefix + "tracestate":    "rojo=00f067aa0ba902b7",
		prefix + "region":        "서울",
		prefix + "ce4":           `a "quoted" \ value, 100% 🎟`,
		"content-type":           "application/json",
		"partitionkey":           "user-7",
	}
}

func TestBinaryHeaders(t *testing.T) {
	web := fullHeaders("ce-")
	web["ce-region"] = "%EC%84%9C%EC%9A%B8"
	web["ce-ce4"] = `a%20%22quoted%22%20\%20value,%20100%25%20%F0%9F%8E%9F`
	for name, c := range map[string]struct {
		codec Binary
		want  map[string]string
	}{
		"default": {Binary{}, fullHeaders("ce_")},
		"kafka":   {Binary{Binding: KafkaBinding}, fullHeaders("ce_")},
		"http":    {Binary{Binding: HTTPBinding}, web},
		"amqp":    {Binary{Binding: AMQPBinding}, fullHeaders("cloudEvents_")},
	} {
		t.Run(name, func(t *testing.T) {
			msg, err := c.codec.Encode(full())
			require.NoError(t, err)
			if !maps.Equal(map[string]string(msg.Metadata), c.want) {
				t.Errorf("metadata\n got %v\nwant %v", msg.Metadata, c.want)
			}
			if msg.UUID != full().ID || string(msg.Payload) != string(full().Data) {
				t.Errorf("message %s %s", msg.UUID, msg.Payload)
			}
			got, err := c.codec.decode(msg)
			require.NoError(t, err)
			wantEqual(t, got, full())
		})
	}
}

func binaryMessage(body string, headers ...string) *message.Message {
	msg := message.NewMessage("m-1", []byte(body))
	for i := 0; i < len(headers); i += 2 {
		msg.Metadata[headers[i]] = headers[i+1]
	}
	return msg
}

// required returns the required attributes and those in more.
func required(prefix string, more ...string) []string {
	return append([]string{prefix + "specversion", "1.0", prefix + "id", "1", prefix + "source", "s", prefix + "type", "T"}, more...)
}

func TestBinaryReads(t *testing.T) {
	for name, c := range map[string]struct {
		binding Binding
		msg     *message.Message
		want    func(*Event)
	}{
		"minimal":          {KafkaBinding, binaryMessage("", required("ce_")...), func(e *Event) {}},
		"foreign metadata": {KafkaBinding, binaryMessage("", required("ce_", "_watermill_message_uuid", "x", "dlq_reason", "y", "ce-subject", "z", "ce", "")...), func(e *Event) {}},
		"canonical HTTP": {HTTPBinding, binaryMessage("{}", required("Ce-", "Content-Type", "application/json", "Ce-Subject", "a", "CE-REGION", "x")...), func(e *Event) {
			e.AggregateID, e.Extensions, e.Data, e.DataContentType = "a", map[string]string{"region": "x"}, []byte("{}"), jsonType
		}},
		"AMQP colon":         {AMQPBinding, binaryMessage("", required("cloudEvents:", "cloudEvents:subject", "a")...), func(e *Event) { e.AggregateID = "a" }},
		"untyped JSON":       {KafkaBinding, binaryMessage("[1]", required("ce_")...), func(e *Event) { e.DataContentType, e.Data = jsonType, []byte("[1]") }},
		"untyped bytes":      {KafkaBinding, binaryMessage("a\xff", required("ce_")...), func(e *Event) { e.DataContentType, e.Data = octetStream, []byte("a\xff") }},
		"typed bytes":        {KafkaBinding, binaryMessage("a\xff", required("ce_", "content-type", "a/b")...), func(e *Event) { e.DataContentType, e.Data = "a/b", []byte("a\xff") }},
		"type, no data":      {KafkaBinding, binaryMessage("", required("ce_", "content-type", "a/b")...), func(e *Event) { e.DataContentType = "a/b" }},
		"type as attribute":  {KafkaBinding, binaryMessage("x", required("ce_", "ce_datacontenttype", "a/b")...), func(e *Event) { e.DataContentType, e.Data = "a/b", []byte("x") }},
		"percent stays":      {KafkaBinding, binaryMessage("", required("ce_", "ce_subject", "100%25")...), func(e *Event) { e.AggregateID = "100%25" }},
		"percent once":       {HTTPBinding, binaryMessage("", required("ce-", "ce-subject", "100%2525")...), func(e *Event) { e.AggregateID = "100%25" }},
		"lower-case percent": {HTTPBinding, binaryMessage("", required("ce-", "ce-subject", "%ec%84%9c")...), func(e *Event) { e.AggregateID = "서" }},
		"raw percent":        {HTTPBinding, binaryMessage("", required("ce-", "ce-subject", "100% sure %2")...), func(e *Event) { e.AggregateID = "100% sure %2" }},
		"raw UTF-8":          {HTTPBinding, binaryMessage("", required("ce-", "ce-subject", "서 울")...), func(e *Event) { e.AggregateID = "서 울" }},
		"quoted":             {HTTPBinding, binaryMessage("", required("ce-", "ce-subject", `"a \"b\" \\ %41"`)...), func(e *Event) { e.AggregateID = `a "b" \ A` }},
		"lonely quote":       {HTTPBinding, binaryMessage("", required("ce-", "ce-subject", `"`)...), func(e *Event) { e.AggregateID = `"` }},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Binary{Binding: c.binding}.decode(c.msg)
			require.NoError(t, err)
			want := minimal()
			c.want(&want)
			wantEqual(t, got, want)
		})
	}
}

func TestBinaryRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		binding   Binding
		msg       *message.Message
		attribute string
		contains  string
	}{
		"no metadata":       {"", binaryMessage("{}"), "specversion", "missing"},
		"structured":        {"", structuredMessage("{}"), "datacontenttype", "event format"},
		"batch":             {"", binaryMessage("", required("ce_", "content-type", "application/cloudevents-batch+json")...), "datacontenttype", "event format"},
		"other binding":     {"", binaryMessage("", required("ce-")...), "specversion", "missing"},
		"unknown binding":   {"x_", binaryMessage("", required("x_")...), "specversion", `"x_"`},
		"old version":       {"", binaryMessage("", "ce_specversion", "0.3", "ce_id", "1", "ce_type", "T", "ce_source", "s"), "specversion", "0.3"},
		"no id":             {"", binaryMessage("", "ce_specversion", "1.0", "ce_type", "T", "ce_source", "s"), "id", "empty"},
		"no type":           {"", binaryMessage("", "ce_specversion", "1.0", "ce_id", "1", "ce_source", "s"), "type", "empty"},
		"no source":         {"", binaryMessage("", "ce_specversion", "1.0", "ce_id", "1", "ce_type", "T"), "source", "empty"},
		"time":              {"", binaryMessage("", required("ce_", "ce_time", "1700000000")...), "time", "RFC 3339"},
		"sequence":          {"", binaryMessage("", required("ce_", "ce_sequence", "-1")...), "sequence", "-1"},
		"priority":          {"", binaryMessage("", required("ce_", "ce_priority", "1")...), "priority", "HIGH"},
		"content type":      {"", binaryMessage("x", required("ce_", "content-type", "; a")...), "datacontenttype", "media type"},
		"two types":         {"", binaryMessage("x", required("ce_", "content-type", "a/b", "ce_datacontenttype", "a/b")...), "datacontenttype", "twice"},
		"two cases":         {HTTPBinding, binaryMessage("", required("ce-", "Ce-Id", "1")...), "id", "twice"},
		"two prefixes":      {AMQPBinding, binaryMessage("", required("cloudEvents_", "cloudEvents:id", "1")...), "id", "twice"},
		"extension cases":   {"", binaryMessage("", required("ce_", "ce_x", "1", "ce_X", "1")...), "x", "twice"},
		"extension name":    {"", binaryMessage("", required("ce_", "ce_my-ext", "1")...), "my-ext", "lower-case"},
		"nameless":          {"", binaryMessage("", required("ce_", "ce_", "1")...), `""`, "name"},
		"data as attribute": {"", binaryMessage("", required("ce_", "ce_data", "1")...), "data", "extension"},
		"control character": {"", binaryMessage("", required("ce_", "ce_actorid", "a\nb")...), "actorid", "U+000A"},
		"encoded control":   {HTTPBinding, binaryMessage("", required("ce-", "ce-actorid", "a%0Ab")...), "actorid", "U+000A"},
		"overlong UTF-8":    {HTTPBinding, binaryMessage("", required("ce-", "ce-actorid", "%C0%A0")...), "actorid", "UTF-8"},
		"data is not JSON":  {"", binaryMessage("{", required("ce_", "content-type", "application/json")...), "data", "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := Binary{Binding: c.binding}.decode(c.msg)
			wantError(t, err, c.attribute, c.contains, `"m-1"`)
			if e.ID != "" || e.Data != nil {
				t.Errorf("an event beside an error: %+v", e)
			}
		})
	}
	e := full()
	e.DataContentType = "Application/CloudEvents+json"
	_, err := Binary{}.Encode(e)
	wantError(t, err, "datacontenttype", "binary mode")
	_, err = Binary{Binding: "ce."}.Encode(full())
	wantError(t, err, "specversion", `"ce."`)
}

func TestBinaryMaxSize(t *testing.T) {
	for _, binding := range []Binding{KafkaBinding, HTTPBinding, AMQPBinding} {
		e := full()
		msg, err := Binary{Binding: binding}.Encode(e)
		require.NoError(t, err)
		size := len(msg.Payload) - len(KeyHeader) - len(msg.Metadata[KeyHeader])
		for k, v := range msg.Metadata {
			size += len(k) + len(v)
		}
		msg.Metadata["dlq_stack"] = strings.Repeat("x", 10_000) // not an attribute of the event
		exact, less := Binary{binding, size}, Binary{binding, size - 1}
		_, err = exact.Encode(e)
		assert.NoError(t, err)
		_, err = exact.decode(msg)
		assert.NoError(t, err)
		if _, err := less.Encode(e); !errors.Is(err, errTooLarge) || fault.Of(err) != fault.Permanent {
			t.Errorf("encode beyond the limit: %v", err)
		}
		if _, err := less.decode(msg); !errors.Is(err, errTooLarge) || fault.Of(err) != fault.Permanent {
			t.Errorf("decode beyond the limit: %v", err)
		}
	}
	for name, msg := range map[string]*message.Message{
		"data":      binaryMessage(strings.Repeat("x", defaultMaxSize+1), required("ce_")...),
		"attribute": binaryMessage("", required("ce_", "ce_x", strings.Repeat("x", defaultMaxSize+1))...),
	} {
		if _, err := (Binary{}).decode(msg); !errors.Is(err, errTooLarge) {
			t.Errorf("%s beyond the default limit: %v", name, err)
		}
	}
	e := minimal()
	e.DataContentType, e.Data = octetStream, make([]byte, defaultMaxSize+1)
	if _, err := (Binary{}).Encode(e); !errors.Is(err, errTooLarge) {
		t.Errorf("default limit: %v", err)
	}
}

// TestBinaryThroughHTTP sends the metadata through a real header block, which changes the case
// of names and accepts only printable ASCII.
func TestBinaryThroughHTTP(t *testing.T) {
	msg, err := Binary{Binding: HTTPBinding}.Encode(full())
	require.NoError(t, err)
	header := http.Header{}
	for k, v := range msg.Metadata {
		header.Set(k, v)
	}
	var wire strings.Builder
	require.NoError(t, header.Write(&wire))
	for _, c := range []byte(wire.String()) {
		if c > '~' {
			t.Fatalf("byte %#x in the header block", c)
		}
	}
	received := message.NewMessage("", msg.Payload)
	for k := range header {
		received.Metadata[k] = header.Get(k)
	}
	got, err := Decode(received)
	require.NoError(t, err)
	wantEqual(t, got, full())
	assert.Equal(t, "user-7", Key(received), "Key")
}

func TestErrorsAreDeterministic(t *testing.T) {
	msg := binaryMessage("", required("ce_", "ce_time", "x", "ce_sequence", "x", "ce_a-", "x", "ce_b-", "x")...)
	e := full()
	e.Extensions = map[string]string{"b": "\n", "a": "\n", "c-": "", "d-": ""}
	for range 100 {
		_, err := Decode(msg)
		wantError(t, err, "a-")
		wantError(t, e.Validate(), "a")
	}
}

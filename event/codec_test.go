package event

import (
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDecodeRecognises(t *testing.T) {
	for name, codec := range map[string]codec{
		"structured": Structured{},
		"kafka":      Binary{},
		"http":       Binary{Binding: HTTPBinding},
		"amqp":       Binary{Binding: AMQPBinding},
	} {
		msg, err := codec.Encode(full())
		require.NoError(t, err)
		got, err := Decode(msg)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantEqual(t, got, full())
	}
	for name, msg := range map[string]*message.Message{
		"content type with charset": binaryMessage(`{"specversion":"1.0","id":"1","source":"s","type":"T"}`, "Content-Type", "Application/CloudEvents+JSON; charset=UTF-8"),
		"structured with headers":   binaryMessage(`{"specversion":"1.0","id":"1","source":"s","type":"T"}`, "content-type", structuredJSON, "ce_id", "other", "ce_specversion", "1.0"),
		"canonical HTTP names":      binaryMessage("", required("Ce-")...),
		"AMQP colon":                binaryMessage("", required("cloudEvents:")...),
		"two bindings":              binaryMessage("", append(required("ce_"), "ce-specversion", "1.0")...),
	} {
		got, err := Decode(msg)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantEqual(t, got, minimal())
	}
}

func TestDecodeRefuses(t *testing.T) {
	_, err := Decode(binaryMessage(`{"specversion":"1.0"}`, "content-type", jsonType))
	wantError(t, err, "specversion", "application/cloudevents+json", `"m-1"`)
	assert.ErrorIs(t, err, ErrNotEvent, "not ErrNotEvent")
	for _, contentType := range []string{"application/cloudevents-batch+json", "application/cloudevents+avro", "application/cloudevents"} {
		_, err := Decode(binaryMessage(``, "content-type", contentType))
		wantError(t, err, "datacontenttype", contentType)
	}
	_, err = Decode(binaryMessage("", "ce_specversion", "1.0"))
	wantError(t, err, "id")
	_, err = Decode(&message.Message{})
	wantError(t, err, "specversion")
	for _, decode := range []func(*message.Message) (Event, error){Decode, Structured{}.decode, Binary{}.decode} {
		if _, err := decode(nil); !errors.Is(err, ErrNotEvent) {
			t.Errorf("nil message: %v", err)
		}
	}
}

func TestKey(t *testing.T) {
	for name, c := range map[string]struct {
		headers []string
		want    string
	}{
		"nothing":            {nil, ""},
		"our header":         {[]string{"partitionkey", "k", "ce_partitionkey", "p", "ce_subject", "s"}, "k"},
		"canonical":          {[]string{"Partitionkey", "k", "ce_partitionkey", "p"}, "k"},
		"empty header":       {[]string{"partitionkey", "", "ce_subject", "s"}, "s"},
		"kafka partitionkey": {[]string{"ce_partitionkey", "p", "ce_subject", "s"}, "p"},
		"kafka subject":      {[]string{"ce_subject", "s"}, "s"},
		"http partitionkey":  {[]string{"Ce-Partitionkey", "a%20b", "Ce-Subject", "s"}, "a b"},
		"http subject":       {[]string{"Ce-Subject", "%EC%84%9C"}, "서"},
		"amqp partitionkey":  {[]string{"cloudEvents_partitionkey", "p", "cloudEvents_subject", "s"}, "p"},
		"amqp colon":         {[]string{"cloudEvents:subject", "s"}, "s"},
		"other metadata":     {[]string{"subject", "s", "x", "y"}, ""},
	} {
		assert.Equalf(t, c.want, Key(binaryMessage("", c.headers...)), "%s", name)
	}
	for _, codec := range []codec{Structured{}, Binary{}, Binary{Binding: HTTPBinding}, Binary{Binding: AMQPBinding}} {
		e := full()
		e.PartitionKey = ""
		msg, err := codec.Encode(e)
		require.NoError(t, err)
		if got := Key(msg); got != e.AggregateID || got != msg.Metadata[KeyHeader] {
			t.Errorf("%T: key %q, metadata %v", codec, got, msg.Metadata)
		}
		msg, err = codec.Encode(minimal())
		require.NoError(t, err)
		if _, ok := msg.Metadata[KeyHeader]; ok || Key(msg) != "" {
			t.Errorf("%T: a keyless event has key %q", codec, Key(msg))
		}
	}
}

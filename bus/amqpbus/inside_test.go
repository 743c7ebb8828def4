package amqpbus

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
)

// A message that goes from its queue to this process during the looks is counted.
func TestLagCountsAMovingMessage(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	inProcess := 0
	got, err := lags([]*group{{topic: "t", name: "g", queues: []string{"g.0", "g.1"}}}, func(queue string) (int, error) {
		if queue == "g.1" {
			inProcess = 1 // it left the queue just before
		}
		return 0, nil
	}, func() map[string]taken { return map[string]taken{"g.1": {messages: inProcess, oldest: at}} })
	if err != nil || len(got) != 1 || got[0] != (bus.Lag{Topic: "t", Group: "g", Messages: 1, Oldest: at}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// Foreign publishers send headers of any type, and the broker adds its own.
func TestDecodeForeign(t *testing.T) {
	m := messageOf(amqp.Delivery{
		Headers: amqp.Table{
			"text": "a", "bytes": []byte("b"), "number": int32(7), "flag": true,
			"at":               time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			"x-delivery-count": int64(3), "x-death": []any{amqp.Table{"count": int64(1)}}, "x-first-death-queue": int64(0),
		},
		MessageId: "id-1", ContentType: "application/json", Body: []byte("body"),
	})
	want := map[string]string{
		"text": "a", "bytes": "b", "number": "7", "flag": "true", "at": "2026-01-02T03:04:05Z",
		event.ContentTypeHeader: "application/json",
	}
	if m.ID != "id-1" || string(m.Payload) != "body" || len(m.Metadata) != len(want) {
		t.Errorf("got %s %s %v", m.ID, m.Payload, m.Metadata)
	}
	for k, v := range want {
		if m.Metadata[k] != v {
			t.Errorf("%s is %q, want %q", k, m.Metadata[k], v)
		}
	}
	if bare := messageOf(amqp.Delivery{}); bare.ID != "" || len(bare.Metadata) != 0 {
		t.Errorf("a bare delivery became %v", bare)
	}
}

func TestTypeOf(t *testing.T) {
	e := event.Event{ID: "1", Type: "SeatHeld", Source: "/seats", AggregateType: "seat", AggregateID: "A-1", Data: []byte(`{"type":"inner"}`)}
	for name, codec := range map[string]interface {
		Encode(event.Event) (*message.Message, error)
	}{
		"structured": event.Structured{}, "kafka": event.Binary{Binding: event.KafkaBinding},
		"http": event.Binary{Binding: event.HTTPBinding}, "amqp": event.Binary{Binding: event.AMQPBinding},
	} {
		m, err := codec.Encode(e)
		require.NoError(t, err)
		assert.Equalf(t, "SeatHeld", typeOf(m), "%s", name)
	}
	assert.Equal(t, "", typeOf(message.NewMessage("1", []byte("{}"))), "without a type")
}

func FuzzStructuredType(f *testing.F) {
	f.Add([]byte(`{"data":{"type":"x"},"type":"y"}`))
	f.Add([]byte(`{"type":1}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		got := structuredType(payload)
		var whole struct {
			Type *string `json:"type"`
		}
		if got != "" && json.Valid(payload) && json.Unmarshal(payload, &whole) == nil && whole.Type == nil {
			t.Errorf("%q has no type, got %q", payload, got)
		}
	})
}

// However odd the type, a routing key has one word more than topic and slot, and fits.
func FuzzKey(f *testing.F) {
	f.Add("payment.events", "user-1", "com.example.Paid")
	f.Add("t", "", strings.Repeat("é", 200))
	n := naming{exchange: "domain_events"}
	f.Fuzz(func(t *testing.T, topic, key, kind string) {
		if checkTopic(topic) != nil {
			t.Skip()
		}
		m := message.NewMessage("1", nil)
		m.Metadata.Set(event.KeyHeader, key)
		m.Metadata.Set("ce_type", kind)
		got := n.key(topic, m)
		if topic == "domain_events" {
			topic = ""
			got = ".." + got
		}
		if len(got) > 255 || strings.Count(got, ".") != strings.Count(topic, ".")+2 || strings.ContainsAny(got, "*#") && !strings.ContainsAny(topic, "*#") {
			t.Errorf("topic %q, key %q, type %q: %q", topic, key, kind, got)
		}
	})
}

// Every slot belongs to exactly one queue of a group.
func TestSlotsArePartitioned(t *testing.T) {
	n := naming{exchange: "domain_events"}
	for partitions := 1; partitions <= slots; partitions++ {
		var all []string
		for p := range partitions {
			all = append(all, n.patterns("topic", "group", p, partitions)...)
		}
		slices.Sort(all)
		assert.Lenf(t, slices.Compact(slices.Clone(all)), len(all), "%d partitions: a binding stands twice: %v", partitions, all)
		want := slots + 1
		if partitions == 1 {
			want = 2
		}
		assert.Lenf(t, all, want, "%d partitions have %d bindings", partitions, len(all))
	}
}

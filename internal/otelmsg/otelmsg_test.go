package otelmsg_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/internal/otelmsg"
)

const (
	parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
)

func TestNamesAreThoseOfTheConventions(t *testing.T) {
	for got, want := range map[attribute.Key]attribute.Key{
		otelmsg.System:         semconv.MessagingSystemKey,
		otelmsg.OperationName:  semconv.MessagingOperationNameKey,
		otelmsg.OperationType:  semconv.MessagingOperationTypeKey,
		otelmsg.Destination:    semconv.MessagingDestinationNameKey,
		otelmsg.MessageID:      semconv.MessagingMessageIDKey,
		otelmsg.ConversationID: semconv.MessagingMessageConversationIDKey,
		otelmsg.ConsumerGroup:  semconv.MessagingConsumerGroupNameKey,
		otelmsg.BatchCount:     semconv.MessagingBatchMessageCountKey,
		otelmsg.ErrorType:      semconv.ErrorTypeKey,
	} {
		assert.Equalf(t, want, got, "%q should be %q", got, want)
	}
	for operation, want := range map[string]attribute.KeyValue{
		otelmsg.Create:  semconv.MessagingOperationTypeCreate,
		otelmsg.Send:    semconv.MessagingOperationTypeSend,
		otelmsg.Process: semconv.MessagingOperationTypeProcess,
	} {
		if operation != want.Value.AsString() {
			t.Errorf("%q should be %q", operation, want.Value.AsString())
		}
	}
	for scheme, want := range map[string]attribute.KeyValue{
		"kafka": semconv.MessagingSystemKafka,
		"amqp":  semconv.MessagingSystemRabbitMQ,
		"sqs":   semconv.MessagingSystemAWSSQS,
		"sns":   semconv.MessagingSystemAWSSNS,
		"mem":   semconv.MessagingSystemKey.String("mem"),
		// further schemes of the same transports
		"amqps":      semconv.MessagingSystemRabbitMQ,
		"rediss":     semconv.MessagingSystemKey.String("redis"),
		"tls":        semconv.MessagingSystemKey.String("nats"),
		"postgresql": semconv.MessagingSystemKey.String("postgres"),
	} {
		if got := otelmsg.SystemOf(scheme); got != want.Value.AsString() {
			t.Errorf("%s is %q, want %q", scheme, got, want.Value.AsString())
		}
	}
}

// oracle reads the headers as the OpenTelemetry propagator does.
func oracle(parent, state string) trace.SpanContext {
	carrier := propagation.MapCarrier{"traceparent": parent, "tracestate": state}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

func TestContextsAgreeWithThePropagator(t *testing.T) {
	for _, c := range [][2]string{
		{parent, ""},
		{parent, "vendor=a:b,other=1"},
		{parent, "broken"},
		{strings.TrimSuffix(parent, "1") + "0", ""},
		{strings.TrimSuffix(parent, "1") + "3", ""},
		{strings.TrimSuffix(parent, "01") + "ff", ""},
		{"01" + parent[2:] + "-more", ""},
		{"01" + parent[2:] + "more", ""},
		{"cc" + parent[2:53] + "09", ""},
		{"ff" + parent[2:], ""},
		{parent + "-more", ""},
		{strings.ToUpper(parent), ""},
		{"00-00000000000000000000000000000000-b7ad6b7169203331-01", ""},
		{"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", ""},
		{"00-zzf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", ""},
		{parent[:54], ""},
		{"", "vendor=1"},
	} {
		got, want := otelmsg.Parse(c[0], c[1]), oracle(c[0], c[1])
		assert.Truef(t, got.Equal(want), "%q is %+v, want %+v", c, got, want)
		text, state := otelmsg.Format(got)
		carrier := propagation.MapCarrier{}
		propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), want), carrier)
		if text != carrier["traceparent"] || state != carrier["tracestate"] {
			t.Errorf("%q is written as %q %q, want %v", c, text, state, carrier)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(parent, "vendor=1")
	f.Add("01"+parent[2:]+"-x", "")
	f.Add(strings.Repeat("-", 55), "")
	f.Fuzz(func(t *testing.T, parent, state string) {
		got := otelmsg.Parse(parent, state)
		if want := oracle(parent, state); !got.Equal(want) {
			t.Errorf("%q %q is %+v, want %+v", parent, state, got, want)
		}
	})
}

func TestPack(t *testing.T) {
	with, without := otelmsg.Parse(parent, "vendor=1"), otelmsg.Parse(parent, "")
	for _, c := range []struct {
		sc   trace.SpanContext
		most int
		want trace.SpanContext
	}{
		{with, 256, with}, {with, 64, with}, {with, 63, without}, {with, 55, without}, {with, 54, trace.SpanContext{}},
		{without, 256, without}, {trace.SpanContext{}, 256, trace.SpanContext{}},
	} {
		text := otelmsg.Pack(c.sc, c.most)
		if got := otelmsg.Unpack(text); len(text) > c.most || !got.Equal(c.want) {
			t.Errorf("%+v in %d bytes is %q, %+v", c.sc, c.most, text, got)
		}
	}
	assert.False(t, otelmsg.Unpack("room-1").IsValid(), "a name was taken for a context")
}

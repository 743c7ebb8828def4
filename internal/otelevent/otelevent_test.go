package otelevent_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/otelevent"
	"github.com/millrace-go/millrace/internal/otelmsg"
)

const (
	parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	other  = "00-11111111111111111111111111111111-2222222222222222-01"
)

func made(t *testing.T, traceparent string) event.Event {
	t.Helper()
	e, err := event.New("T", "/test", map[string]string{"traceparent": other})
	require.NoError(t, err)
	e.TraceParent, e.TraceState = traceparent, "vendor=1"
	return e
}

func TestFromMessage(t *testing.T) {
	want := otelmsg.Parse(parent, "vendor=1")
	for name, codec := range map[string]interface {
		Encode(event.Event) (*message.Message, error)
	}{
		"structured": event.Structured{},
		"kafka":      event.Binary{Binding: event.KafkaBinding},
		"http":       event.Binary{Binding: event.HTTPBinding},
		"amqp":       event.Binary{Binding: event.AMQPBinding},
	} {
		m, err := codec.Encode(made(t, parent))
		require.NoError(t, err)
		m.Metadata[otelevent.TraceParent] = other // of the carrier, not of the creator
		sc, e, ok := otelevent.FromMessage(m)
		if !ok || e.Type != "T" || !sc.Equal(want) {
			t.Errorf("%s: %+v of %+v %v", name, sc, e, ok)
		}
		if m, err = codec.Encode(made(t, "")); err != nil {
			t.Fatal(err)
		}
		if sc, _, _ := otelevent.FromMessage(m); sc.IsValid() {
			t.Errorf("%s: an event without a context has %+v", name, sc)
		}
		otelevent.Inject(m, want)
		if sc, _, _ := otelevent.FromMessage(m); !sc.Equal(want) {
			t.Errorf("%s: %+v by its headers", name, sc)
		}
	}
	m := message.NewMessage("1", []byte("no event"))
	m.Metadata[otelevent.TraceParent], m.Metadata[otelevent.TraceState] = parent, "vendor=1"
	if sc, _, ok := otelevent.FromMessage(m); ok || !sc.Equal(want) {
		t.Errorf("no event: %+v %v", sc, ok)
	}
}

func TestInjectKeepsWhatThereIs(t *testing.T) {
	m := message.NewMessage("1", nil)
	otelevent.Inject(m, trace.SpanContext{})
	assert.Empty(t, m.Metadata, "nothing was injected as")
	otelevent.Inject(m, otelmsg.Parse(parent, ""))
	otelevent.Inject(m, otelmsg.Parse(other, "vendor=1"))
	if len(m.Metadata) != 1 || m.Metadata[otelevent.TraceParent] != parent {
		t.Errorf("%v", m.Metadata)
	}
	bare := &message.Message{}
	otelevent.Inject(bare, otelmsg.Parse(parent, ""))
	assert.Equal(t, parent, bare.Metadata[otelevent.TraceParent], "a message without metadata got none")
}

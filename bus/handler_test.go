package bus_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

type encoder interface {
	Encode(event.Event) (*message.Message, error)
}

func encoded(t *testing.T, typ string, codec encoder) *message.Message {
	t.Helper()
	e, err := event.New(typ, "/test", map[string]int{"n": 1})
	require.NoError(t, err)
	e.AggregateType, e.AggregateID = "seat", "A-1"
	m, err := codec.Encode(e)
	require.NoError(t, err)
	return m
}

func TestHandleDecodesBothEncodings(t *testing.T) {
	for name, codec := range map[string]encoder{"structured": event.Structured{}, "binary": event.Binary{}} {
		t.Run(name, func(t *testing.T) {
			var got, inContext event.Event
			want := errors.New("from the handler")
			m := encoded(t, "SeatHeld", codec)
			err := bus.Handle(func(ctx context.Context, e event.Event) error {
				got = e
				inContext, _ = event.FromContext(ctx)
				return want
			})(m)
			if !errors.Is(err, want) || got.ID != m.UUID || got.Type != "SeatHeld" || got.Key() != "A-1" || inContext.ID != m.UUID {
				t.Errorf("err %v, event %+v, in context %+v", err, got, inContext)
			}
		})
	}
	if _, ok := event.FromContext(t.Context()); ok {
		t.Error("an event without a handler")
	}
}

func TestAMessageThatIsNoEventIsPermanent(t *testing.T) {
	called := false
	for _, payload := range []string{"", "not an event", `{"specversion":"1.0"}`} {
		err := bus.Handle(func(context.Context, event.Event) error { called = true; return nil })(message.NewMessage("1", []byte(payload)))
		if fault.Of(err) != fault.Permanent {
			t.Errorf("%q: class of %v is %v, want permanent", payload, err, fault.Of(err))
		}
	}
	assert.False(t, called, "the handler was called")
}

func TestByTypeAcknowledgesWhatItDoesNotHandle(t *testing.T) {
	want, calls := errors.New("from the handler"), 0
	handlers := map[string]bus.EventHandler{"A": func(context.Context, event.Event) error { calls++; return want }}
	h := bus.ByType(handlers)
	delete(handlers, "A") // the map belongs to the caller
	assert.ErrorIs(t, h(encoded(t, "A", event.Structured{})), want, "A")
	if err := h(encoded(t, "B", event.Structured{})); err != nil || calls != 1 {
		t.Errorf("B: %v, %d calls", err, calls)
	}
	if err := h(message.NewMessage("1", []byte("x"))); fault.Of(err) != fault.Permanent {
		t.Errorf("no event: %v", err)
	}
}

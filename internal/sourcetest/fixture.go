package sourcetest

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
)

// Bus is a *bus.Bus.
type Bus interface {
	Publisher() message.Publisher
	Driver() driver.Driver
}

// Keyed makes a message with an id of its own, and without a key if that is "".
func Keyed(key, payload string) *message.Message {
	m := message.NewMessage(uuid.NewString(), []byte(payload))
	if key != "" {
		m.Metadata.Set(event.KeyHeader, key)
	}
	return m
}

// Publish publishes, or ends the test.
func Publish(t testing.TB, b Bus, topic string, messages ...*message.Message) {
	t.Helper()
	if err := b.Publisher().Publish(topic, messages...); err != nil {
		t.Fatal(err)
	}
}

// Subscribe joins a group until the test ends.
func Subscribe(t testing.TB, b Bus, group, topic string, window int) <-chan *message.Message {
	t.Helper()
	sub := Subscriber(b.Driver(), group, window)
	t.Cleanup(func() { sub.Close() }) //nolint:errcheck // a second Close does nothing
	ch, err := sub.Subscribe(context.WithoutCancel(t.Context()), topic)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// Receive receives a message within 30 s.
func Receive(t testing.TB, ch <-chan *message.Message) *message.Message {
	t.Helper()
	select {
	case m, ok := <-ch:
		if !ok {
			t.Fatal("the channel is closed")
		}
		return m
	case <-time.After(30 * time.Second):
		t.Fatal("no message within 30s")
		return nil
	}
}

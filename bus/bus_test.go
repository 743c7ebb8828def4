package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

func TestPublishErrorsAreInfrastructureUnlessTheDriverKnowsBetter(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want fault.Class
	}{
		"unclassified": {errors.New("connection reset"), fault.Infrastructure},
		"permanent":    {fault.MarkPermanent(errors.New("message too large")), fault.Permanent},
		"transient":    {fault.MarkTransient(errors.New("lock timeout")), fault.Transient},
		"cancelled":    {context.Canceled, fault.Transient}, // says nothing about the transport
	} {
		t.Run(name, func(t *testing.T) {
			b := bus.New("x", &flaky{Driver: memBus(t).Driver(), refuse: func(string) error { return c.err }})
			err := b.Publisher().Publish("t", keyed("k", 1))
			if !errors.Is(err, c.err) || !strings.HasPrefix(err.Error(), "bus: publish to t: ") {
				t.Errorf("got %v", err)
			}
			assert.Equal(t, c.want, fault.Of(err), "class")
		})
	}
	b := memBus(t)
	if err := b.Publisher().Publish("", keyed("k", 1)); fault.Of(err) != fault.Permanent {
		t.Errorf("no topic: %v", err)
	}
	assert.NoError(t, b.Publisher().Publish("t"), "no messages")
}

func TestDeclareErrorsNameTheTopic(t *testing.T) {
	b := memBus(t)
	if err := b.Declare(t.Context(), bus.Topic{}); err == nil || !strings.Contains(err.Error(), "no name") {
		t.Errorf("no name: %v", err)
	}
	if err := b.Declare(t.Context(), bus.Topic{Name: "t", Partitions: -1}); err == nil || !strings.Contains(err.Error(), "topic t") {
		t.Errorf("negative partitions: %v", err)
	}
	require.NoError(t, b.Close())
	assert.ErrorIs(t, b.Declare(t.Context(), bus.Topic{Name: "t"}), bus.ErrClosed, "after Close")
}

// stuck is a driver whose Close has no effect.
type stuck struct{ driver.Driver }

func (stuck) Close() error { return nil }

func TestAClosedBusRefusesWhateverItsDriverDoes(t *testing.T) {
	b := bus.New("stuck", stuck{memBus(t).Driver()})
	pub := b.Publisher()
	require.NoError(t, b.Close())
	err := pub.Publish("t", keyed("k", 1))
	if !errors.Is(err, bus.ErrClosed) || fault.Of(err) != fault.Infrastructure {
		t.Errorf("Publish: %v, class %v", err, fault.Of(err))
	}
	if _, err := b.Subscriber("g", bus.SubscriberConfig{}); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("Subscriber: %v", err)
	}
}

// bare hides a driver's optional interfaces.
type bare struct{ driver.Driver }

func TestWhatATransportCannotTellIsUnsupported(t *testing.T) {
	b := bus.New("bare", bare{memBus(t).Driver()})
	if _, err := b.Lag(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Lag: %v", err)
	}
	if _, err := b.Browse(t.Context(), "t", 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Browse: %v", err)
	}
}

func TestCloseOfTheBusEndsItsSubscribers(t *testing.T) {
	b := memBus(t)
	var open []<-chan *message.Message
	for _, group := range []string{"a", "b"} {
		sub, err := b.Subscriber(group, bus.SubscriberConfig{})
		require.NoError(t, err)
		ch, err := sub.Subscribe(context.Background(), "t")
		require.NoError(t, err)
		open = append(open, ch)
	}
	require.NoError(t, b.Close())
	for _, ch := range open {
		if _, ok := <-ch; ok {
			t.Error("a message after Close")
		}
	}
}

package bus_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
)

type ctxKey struct{}

func TestTheContextEndsWithTheAnswerAndNotWithTheSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		d := subscriber(t, f, bus.SubscriberConfig{DrainTimeout: 10 * time.Second})
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), ctxKey{}, "value"))
		ch, err := d.Subscribe(ctx, "t")
		require.NoError(t, err)
		put := func(m *message.Message) *message.Message {
			m.SetContext(f.ctx) // as subscribers do
			f.put(m)
			return <-ch
		}
		acked, nacked, stays, slow := put(keyed("a", 1)), put(keyed("b", 1)), put(keyed("c", 1)), put(keyed("d", 1))
		acked.Ack()
		nacked.Nack()
		synctest.Wait()
		if acked.Context().Err() == nil || nacked.Context().Err() == nil {
			t.Error("the context of an answered message lives on")
		}
		cancel()
		synctest.Wait()
		if _, ok := <-ch; ok {
			t.Fatal("the channel is open after the context ended")
		}
		assert.NoError(t, stays.Context().Err(), "the end of the subscription cut a handler short")
		if v := stays.Context().Value(ctxKey{}); v != "value" {
			t.Errorf("the context's value is %v", v)
		}
		begin, closed := time.Now(), make(chan time.Duration)
		go func() {
			closeOK(t, d)
			closed <- time.Since(begin)
		}()
		time.Sleep(9 * time.Second)
		assert.NoError(t, stays.Context().Err(), "Close cut a handler short")
		stays.Ack()
		assert.Equal(t, 10*time.Second, <-closed, "Close took")
		assert.ErrorIs(t, context.Cause(slow.Context()), bus.ErrDrainTimeout, "after the drain timeout")
		assert.Equal(t, "a#1:ack b#1:nack c#1:ack d#1:nack", f.answers(), "the source saw")
	})
}

func TestCloseHandsBackWhatIsUnfinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		d, ch := dispatch(t, f, bus.SubscriberConfig{Concurrency: 2, Redelivery: bus.Backoff{Initial: time.Hour, Max: time.Hour}})
		f.put(keyed("done", 1), keyed("parked", 1), keyed("parked", 2), keyed("out", 1), keyed("out", 2), keyed("queued", 1))
		for _, m := range drain(ch) {
			if m.UUID == "done#1" {
				m.Ack()
			} else {
				m.Nack()
			}
		}
		out := drain(ch)
		require.Equal(t, "out#1 queued#1", ids(out), "out")
		// An acknowledgement at the moment of the close counts.
		out[1].Ack()
		closeOK(t, d)
		assert.Equal(t, "done#1:ack parked#1:nack parked#2:nack out#1:nack out#2:nack queued#1:ack", f.answers(), "the source saw")
		assert.Error(t, out[0].Context().Err(), "the context of a message that was handed back lives on")
		if f.closes != 1 {
			t.Errorf("the source was closed %d times", f.closes)
		}
		out[0].Ack() // too late, and harmless
		closeOK(t, d)
		if _, err := d.Subscribe(context.Background(), "t"); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("Subscribe after Close: %v", err)
		}
	})
}

func TestASourceThatEndsClosesTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		f.put(keyed("a", 1))
		d, ch := dispatch(t, f, bus.SubscriberConfig{})
		m := <-ch
		f.end()
		if _, ok := <-ch; ok {
			t.Error("got a message from a source that ended")
		}
		m.Ack()
		closeOK(t, d)
		assert.Equal(t, "a#1:ack", f.answers(), "the source saw")
	})
}

// While Close of the bus waits for the messages that are out, their handlers can still publish.
func TestHandlersPublishWhileTheBusCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memBus(t)
		sub, err := b.Subscriber("g", bus.SubscriberConfig{DrainTimeout: time.Minute})
		require.NoError(t, err)
		ch, err := sub.Subscribe(t.Context(), "t")
		require.NoError(t, err)
		publish(t, b, "t", keyed("a", 1))
		m := <-ch
		closed := make(chan error, 1)
		go func() { closed <- b.Close() }()
		synctest.Wait()
		assert.NoError(t, b.Publisher().Publish("out", keyed("a", 2)), "a handler that is still at work")
		if _, err := b.Subscriber("g", bus.SubscriberConfig{}); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("a new subscriber: %v", err)
		}
		m.Ack()
		assert.NoError(t, <-closed)
		assert.ErrorIs(t, b.Publisher().Publish("out", keyed("a", 3)), bus.ErrClosed, "after Close")
	})
}

package bus_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
)

type ctxKey struct{}

func TestTheContextEndsWithTheAnswerAndNotWithTheSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		d := subscriber(t, f, bus.SubscriberConfig{DrainTimeout: 10 * time.Second})
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), ctxKey{}, "value"))
		ch, err := d.Subscribe(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
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
		if err := stays.Context().Err(); err != nil {
			t.Errorf("the end of the subscription cut a handler short: %v", err)
		}
		if v := stays.Context().Value(ctxKey{}); v != "value" {
			t.Errorf("the context's value is %v", v)
		}
		begin, closed := time.Now(), make(chan time.Duration)
		go func() {
			closeOK(t, d)
			closed <- time.Since(begin)
		}()
		time.Sleep(9 * time.Second)
		if err := stays.Context().Err(); err != nil {
			t.Errorf("Close cut a handler short: %v", err)
		}
		stays.Ack()
		if took := <-closed; took != 10*time.Second {
			t.Errorf("Close took %s, want the drain timeout", took)
		}
		if err := context.Cause(slow.Context()); !errors.Is(err, bus.ErrDrainTimeout) {
			t.Errorf("after the drain timeout: %v", err)
		}
		if got := f.answers(); got != "a#1:ack b#1:nack c#1:ack d#1:nack" {
			t.Errorf("the source saw %s", got)
		}
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
		if got := ids(out); got != "out#1 queued#1" {
			t.Fatalf("out: %s", got)
		}
		// An acknowledgement at the moment of the close counts.
		out[1].Ack()
		closeOK(t, d)
		if got := f.answers(); got != "done#1:ack parked#1:nack parked#2:nack out#1:nack out#2:nack queued#1:ack" {
			t.Errorf("the source saw %s", got)
		}
		if out[0].Context().Err() == nil {
			t.Error("the context of a message that was handed back lives on")
		}
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
		if got := f.answers(); got != "a#1:ack" {
			t.Errorf("the source saw %s", got)
		}
	})
}

// While Close of the bus waits for the messages that are out, their handlers can still publish.
func TestHandlersPublishWhileTheBusCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memBus(t)
		sub, err := b.Subscriber("g", bus.SubscriberConfig{DrainTimeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		ch, err := sub.Subscribe(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		publish(t, b, "t", keyed("a", 1))
		m := <-ch
		closed := make(chan error, 1)
		go func() { closed <- b.Close() }()
		synctest.Wait()
		if err := b.Publisher().Publish("out", keyed("a", 2)); err != nil {
			t.Errorf("a handler that is still at work: %v", err)
		}
		if _, err := b.Subscriber("g", bus.SubscriberConfig{}); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("a new subscriber: %v", err)
		}
		m.Ack()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if err := b.Publisher().Publish("out", keyed("a", 3)); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

package bus_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
)

// Faults of Watermill 1.5.1 that a consumer must not inherit. Where possible, Watermill's own
// part is the control: the test shows the fault there and its absence here.

// firstTime fails the first time and succeeds afterwards.
func firstTime(handled *int) message.NoPublishHandlerFunc {
	calls := 0
	return func(*message.Message) error {
		if calls++; calls == 1 {
			return errors.New("database is busy")
		}
		*handled++
		return nil
	}
}

type seen map[string]bool

func (s seen) IsDuplicate(_ context.Context, key string) (bool, error) {
	was := s[key]
	s[key] = true
	return was, nil
}

// Watermill's Deduplicator records the key before the handler runs: after a failure the
// redelivered message counts as a duplicate and is lost.
func TestFault_DeduplicatorLosesAFailedMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control, handled := 0, 0
		dedup := &middleware.Deduplicator{Repository: seen{}, Timeout: time.Second, KeyFactory: func(m *message.Message) (string, error) { return m.UUID, nil }}

		b := memBus(t)
		once := bus.FixedRetry(time.Second, 1)
		r := start(t, b, bus.RunnerConfig{},
			bus.Consumer{Topic: "t", Group: "ours", Retry: once, Handler: firstTime(&handled)},
			bus.Consumer{Topic: "t", Group: "control", Retry: once, Handler: firstTime(&control), Middleware: []message.HandlerMiddleware{dedup.Middleware}})
		publish(t, b, "t", keyed("k", 1))
		time.Sleep(time.Minute)
		synctest.Wait()
		r.stop(t)
		assert.Equalf(t, 0, control, "the control handled the message %d times: the fault is gone, and this test with it", control)
		assert.Equalf(t, 1, handled, "handled %d times, want once", handled)
	})
}

// Watermill's Retry with ShouldRetry takes two steps of the backoff for every retry.
func TestFault_RetryConsumesTheBackoffTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		begin := time.Now()
		fail := func() error {
			at = append(at, time.Since(begin))
			return errors.New("no")
		}
		control := middleware.Retry{
			MaxRetries: 3, InitialInterval: time.Second, MaxInterval: time.Hour, Multiplier: 2,
			ShouldRetry: func(middleware.RetryParams) bool { return true },
		}
		control.Middleware(func(*message.Message) ([]*message.Message, error) { return nil, fail() })(keyed("k", 1)) //nolint:errcheck // it fails
		want := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}
		assert.False(t, slices.Equal(at, want), "the control retries at 1, 3, 7 s: the fault is gone, and this test with it")

		b := memBus(t)
		at, begin = nil, time.Now()
		r := start(t, b, bus.RunnerConfig{}, bus.Consumer{
			Topic: "t", Group: "g", Retry: bus.RetryPolicy{Backoff: exact},
			Handler: func(*message.Message) error { return fail() },
		})
		publish(t, b, "t", keyed("k", 1))
		time.Sleep(time.Minute)
		synctest.Wait()
		r.stop(t)
		if !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
	})
}

// Stopping one handler of a Router closes the publisher, which others share.
func TestFault_StoppingAHandlerClosesASharedPublisher(t *testing.T) {
	b := memBus(t)
	// The control's publisher is the driver's; its Close is counted.
	var closed atomic.Int32
	control := closeCounting{b.Driver().Publisher(), &closed}
	for name, pub := range map[string]message.Publisher{"control": control, "ours": b.Publisher()} {
		t.Run(name, func(t *testing.T) {
			router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
			require.NoError(t, err)
			sub, err := b.Subscriber(name, bus.SubscriberConfig{})
			require.NoError(t, err)
			defer sub.Close()
			stays := router.AddHandler("stays", "in", sub, "out", pub, message.PassthroughHandler)
			goes := router.AddHandler("goes", "in2", sub, "out", pub, message.PassthroughHandler)
			done := make(chan error, 1)
			go func() { done <- router.Run(context.Background()) }()
			<-router.Running()
			goes.Stop()
			<-goes.Stopped()
			assert.NoError(t, pub.Publish("out", keyed("k", 1)), "after one of two handlers stopped")
			stays.Stop()
			assert.NoError(t, <-done)
			<-stays.Stopped()
		})
	}
	if closed.Load() == 0 {
		t.Error("the Router did not close the control's publisher: the fault is gone, and this test with it")
	}
}

type closeCounting struct {
	message.Publisher
	closed *atomic.Int32
}

func (c closeCounting) Close() error { c.closed.Add(1); return nil }

// Watermill's Throttle waits for its tick even after the message's context has ended. Our waits
// for a retry, a pause or the redelivery of a plain subscriber all end with the shutdown.
func TestFault_WaitsIgnoreTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		m := keyed("k", 1)
		m.SetContext(ctx)
		throttle := middleware.NewThrottle(1, time.Hour)
		begin := time.Now()
		throttle.Middleware(func(*message.Message) ([]*message.Message, error) { return nil, nil })(m) //nolint:errcheck // the control
		if time.Since(begin) == 0 {
			t.Error("the control heeds the context: the fault is gone, and this test with it")
		}
	})
	hour := bus.Backoff{Initial: time.Hour, Max: time.Hour}
	synctest.Test(t, func(t *testing.T) {
		b := memBus(t)
		var consumers []bus.AnyConsumer
		for group, err := range map[string]error{"retry": errors.New("no"), "pause": errDown} {
			consumers = append(consumers, bus.Consumer{
				Topic: "t", Group: group, Retry: bus.RetryPolicy{Backoff: hour, Probe: hour},
				Handler: func(*message.Message) error { return err },
			})
		}
		r := start(t, b, bus.RunnerConfig{}, consumers...)
		sub, err := b.Subscriber("plain", bus.SubscriberConfig{Redelivery: hour, DrainTimeout: time.Hour})
		require.NoError(t, err)
		ch, err := sub.Subscribe(context.Background(), "t")
		require.NoError(t, err)
		publish(t, b, "t", keyed("k", 1))
		(<-ch).Nack()
		synctest.Wait()
		begin := time.Now()
		r.stop(t)
		assert.NoError(t, sub.Close())
		assert.EqualValues(t, 0, time.Since(begin), "the shutdown waited")
	})
}

// Watermill's Kafka publisher sends one message at a time and waits for each. A bus hands all
// messages of a Publish to the transport together.
func TestFault_PublishSendsOneByOne(t *testing.T) {
	d := &flaky{Driver: memBus(t).Driver()}
	var batch []*message.Message
	for n := range 100 {
		batch = append(batch, keyed("k", n))
	}
	publish(t, bus.New("x", d), "t", batch...)
	if n := d.calls.Load(); n != 1 {
		t.Errorf("100 messages of one Publish reached the transport in %d calls", n)
	}
}

// Closing Watermill's Router ends the subscriptions, and with them the contexts of messages that
// are still being handled.
func TestFault_ClosingCancelsHandlersAtWork(t *testing.T) {
	// handler works for 20 s, or until its context ends, and reports how it ended.
	handler := func(ended chan<- error) message.NoPublishHandlerFunc {
		return func(m *message.Message) error {
			select {
			case <-time.After(20 * time.Second):
			case <-m.Context().Done():
			}
			ended <- m.Context().Err()
			return nil
		}
	}
	synctest.Test(t, func(t *testing.T) {
		pubsub := gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{})
		router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
		require.NoError(t, err)
		ended := make(chan error, 1)
		router.AddConsumerHandler("control", "t", pubsub, handler(ended))
		go router.Run(context.Background()) //nolint:errcheck // ends with Close
		<-router.Running()
		require.NoError(t, pubsub.Publish("t", keyed("k", 1)))
		synctest.Wait()
		assert.NoError(t, router.Close())
		assert.Error(t, <-ended, "the control's context lives: the fault is gone, and this test with it")
	})
	synctest.Test(t, func(t *testing.T) {
		b, ended := memBus(t), make(chan error, 1)
		r := start(t, b, bus.RunnerConfig{}, bus.Consumer{Topic: "t", Group: "g", Handler: handler(ended)})
		publish(t, b, "t", keyed("k", 1))
		synctest.Wait()
		begin := time.Now()
		r.stop(t)
		if err := <-ended; err != nil || time.Since(begin) != 20*time.Second {
			t.Errorf("the handler ended after %s with %v, want 20s and a live context", time.Since(begin), err)
		}
	})
}

package outbox_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

// watched is a store of which one counts the reads, and sees which relays listen.
type watched struct {
	*outboxtest.Memory
	reads     atomic.Int64
	listening atomic.Int64
}

func (w *watched) Read(ctx context.Context, l driver.Lease, q driver.Query) (driver.Batch, error) {
	w.reads.Add(1)
	return w.Memory.Read(ctx, l, q)
}

func (w *watched) Listen(ctx context.Context, wake func()) error {
	w.listening.Add(1)
	defer w.listening.Add(-1)
	wake()
	<-ctx.Done()
	return nil
}

// slow is a publisher that takes 5 ms, however many messages there are.
type slow struct{ *outboxtest.Publisher }

func (s slow) Publish(topic string, msgs ...*message.Message) error {
	time.Sleep(5 * time.Millisecond)
	return s.Publisher.Publish(topic, msgs...)
}

// run runs a relay; end ends it.
func (w *watched) run(t *testing.T, pub message.Publisher, holder string) (end func()) {
	t.Helper()
	r, err := outbox.NewRelay(w, pub, outbox.RelayConfig{Holder: holder})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		require.NoError(t, <-done)
	}
}

// Under a steady load a shard looks for more half of the time.
func TestAShardRestsBetweenSmallBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		w := &watched{Memory: b.store}
		defer w.run(t, slow{b.pub}, "relay")()
		w.reads.Store(0)
		for range 500 {
			b.append("a")
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, b.pub.WaitFor(t.Context(), 500))
		require.LessOrEqual(t, w.reads.Load(), int64(60), "in half a second, of which a round takes 5 ms")
	})
}

// An event that comes when the shard is not busy is published at once, and one that comes right
// after another waits for as long as that took, or for 20 ms.
func TestARestIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		var slow time.Duration
		b.pub.Fail = func(string, event.Event) error { time.Sleep(slow); return nil }
		defer b.start(outbox.RelayConfig{})()
		synctest.Wait()
		for _, c := range []struct{ slow, pause, want time.Duration }{
			{3 * time.Millisecond, 0, 6 * time.Millisecond},
			{3 * time.Millisecond, 2 * time.Millisecond, 4 * time.Millisecond},
			{3 * time.Millisecond, 3 * time.Millisecond, 3 * time.Millisecond},
			{100 * time.Millisecond, 0, 120 * time.Millisecond},
			{100 * time.Millisecond, time.Second, 100 * time.Millisecond},
		} {
			time.Sleep(time.Minute)
			slow = c.slow
			n := len(b.pub.Published())
			b.append("a")
			require.NoError(t, b.pub.WaitFor(t.Context(), n+1))
			time.Sleep(c.pause)
			synctest.Wait()
			began := time.Now()
			b.append("a")
			require.NoError(t, b.pub.WaitFor(t.Context(), n+2))
			require.Equal(t, c.want, time.Since(began), "%v after one that took %v", c.pause, c.slow)
		}
	})
}

// A relay that stands by does not listen, and begins when it has taken over.
func TestOnlyTheHolderListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3)
		w := &watched{Memory: b.store}
		first := w.run(t, b.pub, "first")
		require.EqualValues(t, 1, w.listening.Load(), "for three shards")
		second := w.run(t, b.pub, "second")
		require.EqualValues(t, 1, w.listening.Load())
		first()
		synctest.Wait()
		require.EqualValues(t, 0, w.listening.Load())
		time.Sleep(time.Minute)
		require.EqualValues(t, 1, w.listening.Load())
		second()
		require.EqualValues(t, 0, w.listening.Load())
	})
}

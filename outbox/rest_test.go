package outbox_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

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
	time.Sleep(time.Millisecond) // Run waits for this
	return nil
}

// slow is a publisher whose calls take some time, however many messages there are.
type slow struct {
	*outboxtest.Publisher
	takes time.Duration
}

func (s *slow) Publish(topic string, msgs ...*message.Message) error {
	time.Sleep(s.takes)
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

// Under a steady load a shard looks for more a third of the time.
func TestAShardRestsBetweenSmallBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		w := &watched{Memory: b.store}
		defer w.run(t, &slow{b.pub, 5 * time.Millisecond}, "relay")()
		w.reads.Store(0)
		for range 500 {
			b.append("a")
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, b.pub.WaitFor(t.Context(), 500))
		require.LessOrEqual(t, w.reads.Load(), int64(40), "in half a second, of which a round takes 5 ms")
	})
}

// A rest lasts twice as long as the shorter of the last two batches, and follows no batch of few
// events.
func TestARestIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		pub := &slow{Publisher: b.pub}
		defer b.run(pub, outbox.RelayConfig{})() //nolint:errcheck // the events show it
		synctest.Wait()
		took := func(takes time.Duration, keys ...string) time.Duration {
			synctest.Wait()
			pub.takes = takes
			n, began := len(b.pub.Published()), time.Now()
			b.append(keys...)
			require.NoError(t, b.pub.WaitFor(t.Context(), n+len(keys)))
			return time.Since(began)
		}
		four := []string{"a", "a", "a", "a"}
		const ms = time.Millisecond
		for _, c := range []struct {
			before, last time.Duration
			events       []string
			pause, want  time.Duration
		}{
			{3 * ms, 3 * ms, four, 0, 7 * ms},
			{3 * ms, 3 * ms, four, 2 * ms, 5 * ms},
			{3 * ms, 3 * ms, four, 6 * ms, 1 * ms},
			{3 * ms, 3 * ms, four[1:], 0, 1 * ms},
			{3 * ms, 50 * ms, four, 0, 7 * ms},
			{50 * ms, 3 * ms, four, 0, 7 * ms},
			{50 * ms, 50 * ms, four, 0, 21 * ms},
			{50 * ms, 50 * ms, four, time.Second, 1 * ms},
		} {
			time.Sleep(time.Minute)
			took(c.before, "a")
			took(c.last, c.events...)
			time.Sleep(c.pause)
			require.Equal(t, c.want, took(ms, "a"), "%v after %d events that took %v, and others that took %v", c.pause, len(c.events), c.last, c.before)
		}
	})
}

// A backlog is published without rests, and so is what is left of it when the relay drains.
func TestABacklogWaitsForNoRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		pub := &slow{b.pub, 5 * time.Millisecond}
		for range 40 {
			b.append("a")
		}
		began := time.Now()
		end := b.run(pub, outbox.RelayConfig{MinBatch: 10, MaxBatch: 10})
		require.NoError(t, b.pub.WaitFor(t.Context(), 40))
		require.Equal(t, 20*time.Millisecond, time.Since(began))
		require.NoError(t, end())
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		for range 16 {
			b.append("a")
		}
		r, err := outbox.NewRelay(b.store, &slow{b.pub, 5 * time.Millisecond}, outbox.RelayConfig{MinBatch: 10, MaxBatch: 10})
		require.NoError(t, err)
		began := time.Now()
		require.NoError(t, r.Drain(t.Context()))
		require.Equal(t, 10*time.Millisecond, time.Since(began))
	})
}

// A relay that stands by does not listen, and begins when it has taken over.
func TestOnlyTheHolderListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3)
		var lost atomic.Bool
		b.store.Intercept = func(string) error {
			if lost.Load() {
				return driver.ErrLeaseLost
			}
			return nil
		}
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
		lost.Store(true)
		time.Sleep(time.Minute)
		require.EqualValues(t, 0, w.listening.Load(), "without a shard")
		second()
	})
}

package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

func TestStalledHolderStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append(keysOf(10)...)
		// The holder's database connection fails for longer than its lease while a Publish call
		// hangs. The next holder publishes all events.
		entered, release := make(chan *message.Message, 1), make(chan struct{})
		hung := publisherFunc(func(_ string, msgs ...*message.Message) error {
			select {
			case entered <- msgs[0]:
				<-release
			default:
				t.Error("a stalled holder began another Publish call")
			}
			return msgs[0].Context().Err()
		})
		var cut atomic.Bool
		b.store.Intercept = func(op string) error {
			if cut.Load() && op == "settle" {
				return errors.New("no connection")
			}
			return nil
		}
		r, err := outbox.NewRelay(b.store, hung, outbox.RelayConfig{Chunk: 1, Lanes: 1})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		msg := <-entered
		cut.Store(true)
		time.Sleep(11 * time.Second)
		cut.Store(false)

		heir := b.start(outbox.RelayConfig{})
		synctest.Wait()
		if n := len(b.order()); n != 10 {
			t.Errorf("the heir published %d events, want 10", n)
		}
		time.Sleep(4 * time.Second) // the stalled holder asks again
		assert.Error(t, msg.Context().Err(), "the message of a lost lease is not cancelled")
		close(release)
		synctest.Wait()
		assert.Equal(t, 0, outboxtest.Duplicates(b.pub.Published()), "duplicates")
		heir()
		cancel()
		assert.NoError(t, <-done, "Run")
	})
}

type publisherFunc func(topic string, msgs ...*message.Message) error

func (f publisherFunc) Publish(topic string, msgs ...*message.Message) error {
	return f(topic, msgs...)
}
func (publisherFunc) Close() error { return nil }

// TestExpiredLeaseStopsPublishing: a holder that cannot renew its lease must not begin another
// call until it can.
func TestExpiredLeaseStopsPublishing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append(keysOf(10)...)
		var cut atomic.Bool
		b.store.Intercept = func(op string) error {
			if cut.Load() && op == "settle" {
				return errors.New("no connection")
			}
			return nil
		}
		cut.Store(true)
		b.pub.Fail = func(string, event.Event) error { time.Sleep(3 * time.Second); return nil }
		stop := b.start(outbox.RelayConfig{Chunk: 1, Lanes: 1})
		time.Sleep(time.Hour)
		// The lease of 10 s was taken before the first call.
		assert.Equal(t, 4, len(b.order()), "events were published under a lease that could not be renewed, want the 4 of its 10 s")
		cut.Store(false)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := len(b.order()); n != 10 || outboxtest.Duplicates(b.pub.Published()) != 0 {
			t.Errorf("%d events were published in the end, want each of the 10 once", n)
		}
		stop()
	})
}

// TestSlowReadAsksForTheLease: if a read takes longer than the lease, another relay may already
// publish its events.
func TestSlowReadAsksForTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append(keysOf(10)...)
		var slow, cut atomic.Bool
		slow.Store(true)
		b.store.Intercept = func(op string) error {
			if op == "read" && slow.CompareAndSwap(true, false) {
				cut.Store(true)
				time.Sleep(11 * time.Second)
			}
			if op == "settle" && cut.Load() {
				return errors.New("no connection")
			}
			return nil
		}
		late := &outboxtest.Publisher{}
		r, err := outbox.NewRelay(b.store, late, outbox.RelayConfig{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(20 * time.Second)
		assert.Equal(t, 0, len(late.Published()), "events were published although nobody could say whose they")
		cut.Store(false)
		time.Sleep(time.Minute)
		assert.Equal(t, 10, len(late.Published()), "events were published after the store was back")
		cancel()
		assert.NoError(t, <-done)
	})
}

func TestLeaseIsKeptWhilePublishing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a")
		slow := publisherFunc(func(topic string, msgs ...*message.Message) error {
			time.Sleep(5 * time.Minute)
			return b.pub.Publish(topic, msgs...)
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		for range 2 { // one of them stands by
			r, err := outbox.NewRelay(b.store, slow, outbox.RelayConfig{PublishTimeout: 10 * time.Minute})
			require.NoError(t, err)
			go func() { done <- r.Run(ctx) }()
		}
		time.Sleep(time.Hour)
		assert.Len(t, b.order(), 1, "published")
		cancel()
		assert.NoError(t, errors.Join(<-done, <-done))
	})
}

func TestShutdownFinishesTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append(keysOf(20)...)
		b.pub.Fail = func(string, event.Event) error { time.Sleep(time.Second); return nil }
		stop := b.start(outbox.RelayConfig{Lanes: 4})
		time.Sleep(1500 * time.Millisecond)
		stop()
		b.pub.Fail = nil
		assert.Equal(t, 20, len(b.order()), "events of the batch in flight were published")
		assert.NoError(t, b.relay(outbox.RelayConfig{}).Drain(t.Context()))
		assert.Equal(t, 0, outboxtest.Duplicates(b.pub.Published()), "events were published again after a clean stop")
	})
}

func TestShutdownTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a", "b")
		hang := publisherFunc(func(_ string, msgs ...*message.Message) error {
			<-msgs[0].Context().Done() // a client that observes the message's context
			return msgs[0].Context().Err()
		})
		r, err := outbox.NewRelay(b.store, hang, outbox.RelayConfig{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		cancel()
		start := time.Now()
		assert.NoError(t, <-done)
		assert.Equal(t, 30*time.Second, time.Since(start), "a hanging publisher held the shutdown up for")
		if st, _ := b.store.Stats(t.Context()); st[0].Failing != 0 || st[0].Backlog != 2 {
			t.Errorf("a cancelled attempt was counted: %+v", st[0])
		}
	})
}

func TestPublisherPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a")
		n := 0
		b.pub.Fail = func(string, event.Event) error {
			if n++; n == 1 {
				panic("out of cheese")
			}
			return nil
		}
		var failed []error
		require.NoError(t, b.relay(outbox.RelayConfig{Hooks: outbox.Hooks{
			Failed: func(_ int, _ string, _ int, err error) { failed = append(failed, err) },
		}}).Drain(t.Context()))
		if len(failed) != 1 || !strings.Contains(failed[0].Error(), "out of cheese") || len(b.order()) != 1 {
			t.Errorf("failures %v, published %v; want the panic and then a1", failed, b.order())
		}
	})
}

func TestMaxShardsSpreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 4)
		var held [2]atomic.Int64
		var stops []func()
		for i := range 2 {
			stops = append(stops, b.start(outbox.RelayConfig{MaxShards: 2, Hooks: outbox.Hooks{Lease: func(_ int, h bool) {
				if h {
					held[i].Add(1)
				} else {
					held[i].Add(-1)
				}
			}}}))
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if held[0].Load() != 2 || held[1].Load() != 2 {
			t.Errorf("the relays hold %d and %d shards, want 2 each", held[0].Load(), held[1].Load())
		}
		b.append(keysOf(50)...)
		synctest.Wait()
		assert.Equal(t, 50, len(b.order()), "events were published")
		for _, stop := range stops {
			stop()
		}
	})
}

func TestHandover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		first := b.start(outbox.RelayConfig{})
		synctest.Wait()
		second := b.start(outbox.RelayConfig{})
		time.Sleep(10 * time.Second)
		first()
		b.append("a")
		time.Sleep(time.Second) // the standby's interval, not the lease's TTL
		synctest.Wait()
		assert.Len(t, b.order(), 1, "the standby did not take over within its interval")
		second()
	})
}

// TestReadEndsTheLease: a read that finds the lease lost ends the lease, which is then taken
// again. A read from another database than the cursor's ends Run.
func TestReadEndsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		var leases, reads int
		b.store.Intercept = func(op string) error {
			switch op {
			case "lease":
				leases++
			case "read":
				if reads++; reads == 1 {
					return fmt.Errorf("read: %w", driver.ErrLeaseLost)
				} else if reads > 3 {
					return fmt.Errorf("read: %w", driver.ErrForeignDatabase)
				}
			}
			return nil
		}
		assert.ErrorIs(t, b.relay(outbox.RelayConfig{}).Run(t.Context()), driver.ErrForeignDatabase, "Run")
		if leases != 2 || reads != 4 {
			t.Errorf("%d leases were taken for %d reads, want 2 for 4", leases, reads)
		}
	})
}

// granting is a store that grants a lease just when its relay is stopped.
type granting struct {
	*outboxtest.Memory
	stop context.CancelFunc
}

func (g granting) Lease(ctx context.Context, shard int, holder string, ttl time.Duration) (driver.Lease, error) {
	l, err := g.Memory.Lease(ctx, shard, holder, ttl)
	if g.stop(); ctx.Err() != nil {
		return driver.Lease{}, ctx.Err()
	}
	return l, err
}

// A relay that is stopped while it takes a lease gives the lease up, as any other that is stopped.
func TestStopWhileALeaseIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a")
		ctx, stop := context.WithCancel(t.Context())
		r, err := outbox.NewRelay(granting{b.store, stop}, b.pub, outbox.RelayConfig{})
		require.NoError(t, err)
		assert.NoError(t, r.Run(ctx))
		defer b.start(outbox.RelayConfig{})()
		synctest.Wait()
		if n := len(b.order()); n != 1 {
			t.Errorf("the next relay published %d events, want 1", n)
		}
	})
}

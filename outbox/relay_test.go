package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// counted counts the store's operations.
func (b *bench) counted() map[string]*atomic.Int64 {
	n := map[string]*atomic.Int64{}
	for _, op := range []string{"append", "lease", "read", "settle", "release", "prune"} {
		n[op] = &atomic.Int64{}
	}
	b.store.Intercept = func(op string) error { n[op].Add(1); return nil }
	return n
}

func TestIdleRelayAsksRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		n := b.counted()
		stop := b.start(outbox.RelayConfig{})
		time.Sleep(10 * time.Minute)
		total := int64(0)
		for op, c := range n {
			t.Logf("%s: %d", op, c.Load())
			total += c.Load()
		}
		if n["read"].Load() < 590 {
			t.Errorf("%d reads in 10 minutes, want one per second", n["read"].Load())
		}
		if total > 2*600 {
			t.Errorf("%d statements in 10 minutes, want at most 2 per second", total)
		}
		stop()
	})
}

func TestWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		stop := b.start(outbox.RelayConfig{Interval: time.Hour})
		synctest.Wait()
		start := time.Now()
		b.append("a") // Memory.Do wakes after its commit
		synctest.Wait()
		if got := b.order(); len(got) != 1 || time.Since(start) != 0 {
			t.Errorf("published %v after %v, want a1 at once", got, time.Since(start))
		}
		stop()
	})
}

func TestIntervalIsTheFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		r, err := outbox.NewRelay(struct{ driver.Store }{b.store}, b.pub, outbox.RelayConfig{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		b.append("a")
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Len(t, b.order(), 1, "nothing was published after the interval")
		cancel()
		<-done
	})
}

func TestBatchesFollowTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		for range 20 {
			b.append(keysOf(1000)...)
		}
		var rounds []int
		r := b.relay(outbox.RelayConfig{Hooks: outbox.Hooks{Round: func(_ int, _ time.Duration, n int) { rounds = append(rounds, n) }}})
		require.NoError(t, r.Drain(t.Context()))
		if rounds[0] != 100 || slices.Max(rounds) != 5000 {
			t.Errorf("batches of %v, want 100 growing to 5000", rounds)
		}
		rounds = nil
		b.append(keysOf(1000)...)
		b.pub.Fail = func(string, event.Event) error { time.Sleep(time.Second); return nil }
		require.NoError(t, r.Drain(t.Context()))
		if slices.Max(rounds) > 200 {
			t.Errorf("batches of %v for a slow publisher, want them small", rounds)
		}
	})
}

func TestBatchBytesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		for range 10 {
			b.append(keysOf(100)...)
		}
		size := 0
		for _, it := range []string{"k000-"} {
			e, err := outboxtest.NewEvent(it, 1)
			require.NoError(t, err)
			msg, err := (event.Structured{}).Encode(e)
			require.NoError(t, err)
			size = len(msg.Payload)
		}
		var rounds []int
		cfg := outbox.RelayConfig{MaxBatchBytes: 20 * size,
			Hooks: outbox.Hooks{Round: func(_ int, _ time.Duration, n int) { rounds = append(rounds, n) }}}
		require.NoError(t, b.relay(cfg).Drain(t.Context()))
		// The first read had no information about the sizes.
		if n := slices.Max(rounds[1:]); n > 21 {
			t.Errorf("batches of %v, want about 20 events", rounds)
		}
	})
}

func TestReadsAheadWhilePublishing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append(keysOf(20)...)
		n := b.counted()
		b.pub.Fail = func(string, event.Event) error { time.Sleep(time.Second); return nil }
		stop := b.start(outbox.RelayConfig{MinBatch: 5, MaxBatch: 5})
		synctest.Wait()
		if reads := n["read"].Load(); len(b.order()) != 0 || reads != 2 {
			t.Errorf("%d reads while the first batch is being published, want the one ahead too", reads)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := b.pub.WaitFor(ctx, 20); err != nil { // the time depends on the distribution of the keys over the lanes
			t.Error(err)
		}
		stop()
		assert.Len(t, b.order(), 20, "events were published")
	})
}

func TestReadsAheadWhileSettling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("key")
		var reads, settled atomic.Int64
		b.store.Intercept = func(op string) error {
			switch op {
			case "read":
				reads.Add(1)
			case "settle":
				time.Sleep(time.Second)
				settled.Add(1)
			}
			return nil
		}
		stop := b.start(outbox.RelayConfig{})
		time.Sleep(time.Second / 2)
		if len(b.order()) != 1 || settled.Load() != 0 || reads.Load() != 2 {
			t.Errorf("%d reads while the first batch of %d is settled, want the next one too", reads.Load(), len(b.order()))
		}
		stop()
	})
}

// settlements is a store that records settlements.
type settlements struct {
	*outboxtest.Memory
	moves atomic.Int64
}

func (s *settlements) Settle(ctx context.Context, l driver.Lease, set driver.Settlement) error {
	if set.Move != nil {
		s.moves.Add(1)
	}
	return s.Memory.Settle(ctx, l, set)
}

// TestIdlePositionIsKept checks that the read position of an idle relay, which moves with the
// snapshots of a database, is stored with the renewals. Otherwise the cursor of a quiet outbox
// would hold back pruning, and its window would grow.
func TestIdlePositionIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &settlements{Memory: outboxtest.NewMemory(1)}
		r, err := outbox.NewRelay(store, &outboxtest.Publisher{}, outbox.RelayConfig{})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, r.Run(ctx))
		if n := store.moves.Load(); n < 15 || n > 20 {
			t.Errorf("an idle relay wrote its position %d times a minute, want at each renewal", n)
		}
	})
}

// cutOff is a store whose Listen fails at once; the eighth time it fails after it was
// connected.
type cutOff struct {
	*outboxtest.Memory
	last  time.Time
	waits []int // in seconds
}

func (c *cutOff) Listen(_ context.Context, wake func()) error {
	if !c.last.IsZero() {
		c.waits = append(c.waits, int(time.Since(c.last).Seconds()))
	}
	if len(c.waits) == 7 {
		wake()
	}
	c.last = time.Now()
	return errors.New("cut off")
}

func TestListeningIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &cutOff{Memory: outboxtest.NewMemory(1)}
		r, err := outbox.NewRelay(store, &outboxtest.Publisher{}, outbox.RelayConfig{Pause: outbox.Backoff{Jitter: -1}})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 95*time.Second)
		defer cancel()
		require.NoError(t, r.Run(ctx))
		if want := []int{1, 2, 4, 8, 16, 30, 30, 1, 2}; !slices.Equal(store.waits, want) {
			t.Errorf("waited %v seconds between tries, want %v", store.waits, want)
		}
	})
}

func TestRunTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		r := b.relay(outbox.RelayConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		if err := r.Drain(t.Context()); !says(err, "already running") {
			t.Errorf("Drain beside Run returned %v, want that the relay is running", err)
		}
		cancel()
		assert.NoError(t, <-done)
		assert.NoError(t, r.Drain(t.Context()), "Drain after Run")
	})
}

func TestDrainEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a")
		b.refuse(errRefused, is("a1"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		assert.ErrorIs(t, b.relay(outbox.RelayConfig{}).Drain(ctx), context.DeadlineExceeded, "Drain of a failing event")
	})
}

func TestForeignDatabaseEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2)
		b.store.Intercept = func(op string) error {
			if op == "lease" {
				return fmt.Errorf("lease: %w", driver.ErrForeignDatabase)
			}
			return nil
		}
		assert.ErrorIs(t, b.relay(outbox.RelayConfig{}).Run(t.Context()), driver.ErrForeignDatabase, "Run")
	})
}

// TestGroups checks that messages are published many per call, and one by one after a call with
// many has failed.
func TestGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a", "b", "a", "c", "b", "a")
		var calls []string
		failed := false
		pub := publisherFunc(func(_ string, msgs ...*message.Message) error {
			var call []string
			for _, m := range msgs {
				e, err := event.Decode(m)
				if err != nil {
					return err
				}
				call = append(call, name(e))
				if name(e) == "b1" && !failed {
					failed = len(msgs) == 1 // the second time
					calls = append(calls, strings.Join(call, "+")+"!")
					return errRefused
				}
			}
			calls = append(calls, strings.Join(call, "+"))
			return nil
		})
		r, err := outbox.NewRelay(b.store, pub, outbox.RelayConfig{Lanes: 1, Chunk: 4})
		require.NoError(t, err)
		require.NoError(t, r.Drain(t.Context()))
		want := "a1+b1! a1 b1! a2 c1 a3 b1 b2"
		assert.Equal(t, want, strings.Join(calls, " "), "calls")
	})
}

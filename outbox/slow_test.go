package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/sqltx"
)

// slowLine is a store whose reads take a time per event, and which ends slow reads itself if it
// has a timeout.
type slowLine struct {
	*outboxtest.Memory
	perEvent atomic.Int64
	timeout  time.Duration

	mu     sync.Mutex
	limits []int
	failed int
}

func (s *slowLine) Read(ctx context.Context, l driver.Lease, q driver.Query) (driver.Batch, error) {
	b, err := s.Memory.Read(ctx, l, q)
	if err != nil {
		return b, err
	}
	s.mu.Lock()
	s.limits = append(s.limits, q.Limit)
	s.mu.Unlock()
	wait, cut := time.Duration(len(b.Items))*time.Duration(s.perEvent.Load()), error(nil)
	if s.timeout > 0 && wait > s.timeout {
		wait, cut = s.timeout, fmt.Errorf("canceling statement: %w", driver.ErrSlow)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		err = cut
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		s.mu.Lock()
		s.failed++
		s.mu.Unlock()
		return driver.Batch{}, err
	}
	return b, nil
}

func (s *slowLine) seen() (limits []int, failed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.limits), s.failed
}

// TestReadsHalve has 100 events of 4 MB and a throughput of 20 MB/s, so a read of the first
// batch cannot end in time.
func TestReadsHalve(t *testing.T) {
	for _, c := range []struct {
		name    string
		timeout time.Duration
		aside   bool
	}{{"the relay's own time", 0, false}, {"a statement timeout", 5 * time.Second, false}, {"what stands aside", 5 * time.Second, true}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 1)
				b.append(keysOf(100)...)
				if c.aside {
					b.refuse(errRefused, func(n string) bool { return n != "good1" })
					stop := b.start(outbox.RelayConfig{Ordering: outbox.ByKey, Retry: outbox.Backoff{Initial: time.Hour}})
					b.append("good") // shows that the publisher works
					time.Sleep(2 * time.Minute)
					stop()
					b.pub.Fail = nil
				}
				line := &slowLine{Memory: b.store, timeout: c.timeout}
				line.perEvent.Store(int64(200 * time.Millisecond))
				var leases atomic.Int64
				cfg := outbox.RelayConfig{Ordering: outbox.ByKey, Retry: outbox.Backoff{Initial: time.Second}, Hooks: outbox.Hooks{Lease: func(_ int, held bool) {
					if held {
						leases.Add(1)
					}
				}}}
				var stops []func() error
				start := time.Now()
				for range 2 { // one of them stands by and never gets the lease
					r, err := outbox.NewRelay(line, b.pub, cfg)
					require.NoError(t, err)
					ctx, cancel := context.WithCancel(t.Context())
					done := make(chan error, 1)
					go func() { done <- r.Run(ctx) }()
					stops = append(stops, func() error { cancel(); return <-done })
				}
				for len(b.names()) < 100 && time.Since(start) < 2*time.Hour {
					time.Sleep(time.Second)
				}
				limits, failed := line.seen()
				if n := len(b.names()); n < 100 {
					t.Fatalf("%d of 100 events were published by %d reads, the least of %d events", n, len(limits), slices.Min(limits))
				}
				took := time.Since(start)
				t.Logf("took %v, %d reads failed", took, failed)
				if !c.aside && (took > 50*time.Second || failed > 3) {
					t.Errorf("took %v, and %d reads failed; want at most 50 s and 3", took, failed)
				}
				if leases.Load() != 1 || outboxtest.Duplicates(b.pub.Published()) != 0 {
					t.Errorf("the lease was taken %d times, %d events came twice; want one holder", leases.Load(), outboxtest.Duplicates(b.pub.Published()))
				}
				for _, stop := range stops {
					assert.NoError(t, stop())
				}
			})
		})
	}
}

// TestReadsGrowBack has a store that is slow for a while.
func TestReadsGrowBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		for range 30 {
			b.append(keysOf(1000)...)
		}
		line := &slowLine{Memory: b.store}
		line.perEvent.Store(int64(5 * time.Second))
		r, err := outbox.NewRelay(line, b.pub, outbox.RelayConfig{})
		require.NoError(t, err)
		time.AfterFunc(2*time.Minute, func() { line.perEvent.Store(0) })
		require.NoError(t, r.Drain(t.Context()))
		limits, _ := line.seen()
		if slices.Min(limits) > 2 || slices.Max(limits) != 5000 {
			t.Errorf("reads of %d to %d events, want them down to 1 or 2 and back to 5000", slices.Min(limits), slices.Max(limits))
		}
	})
}

// TestBurstsOfLargeEventsAreReadInTime has bursts of events that are 100 times as large as a
// batch may be: their size is known from the previous burst.
func TestBurstsOfLargeEventsAreReadInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowLine{Memory: outboxtest.NewMemory(1)}
		store.perEvent.Store(int64(200 * time.Millisecond))
		box, err := outbox.New(store, outbox.Config{Topic: "t"})
		require.NoError(t, err)
		pub := &outboxtest.Publisher{}
		r, err := outbox.NewRelay(store, pub, outbox.RelayConfig{MaxBatchBytes: 40_000})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		first := 0 // reads of the first burst
		for burst := range 3 {
			err := store.Do(ctx, func(ctx context.Context, tx sqltx.Execer) error {
				for i := range 100 {
					e, err := event.New("Large", "test", make([]byte, 10_000))
					if err != nil {
						return err
					}
					e.AggregateType, e.AggregateID = "test", fmt.Sprint("k", i)
					if err := box.Append(ctx, tx, e); err != nil {
						return err
					}
				}
				return nil
			})
			require.NoError(t, err)
			time.Sleep(5 * time.Minute)
			if n := len(pub.Published()); n != 100*(burst+1) {
				t.Errorf("%d events were published after burst %d, want all", n, burst)
			}
			if limits, _ := store.seen(); burst == 0 {
				first = len(limits)
			}
		}
		limits, failed := store.seen()
		if most := slices.Max(limits[first:]); failed > 2 || most > 4 {
			t.Errorf("%d reads took too long, and later bursts were read by up to %d events; want 2 at first, and what MaxBatchBytes says", failed, most)
		}
		cancel()
		assert.NoError(t, <-done)
	})
}

// moved is a store whose pool reaches another server at some point: positions read on the first
// one are invalid there.
type moved struct {
	*outboxtest.Memory
	reads  atomic.Int64
	at     int64 // the read at which it moves
	moved  atomic.Bool
	leases atomic.Int64
}

func (m *moved) Lease(ctx context.Context, shard int, holder string, ttl time.Duration) (driver.Lease, error) {
	l, err := m.Memory.Lease(ctx, shard, holder, ttl)
	if err == nil {
		m.leases.Add(1)
		m.moved.Store(false)
	}
	return l, err
}

func (m *moved) Read(ctx context.Context, l driver.Lease, q driver.Query) (driver.Batch, error) {
	if m.reads.Add(1) == m.at {
		m.moved.Store(true)
	}
	if m.moved.Load() {
		return driver.Batch{}, fmt.Errorf("another server answers: %w", driver.ErrLeaseLost)
	}
	return m.Memory.Read(ctx, l, q)
}

// TestReadOfAnotherServerEndsTheTenure: each of the first reads reaches another server. The
// relay must take the lease again, and begin at the stored position.
func TestReadOfAnotherServerEndsTheTenure(t *testing.T) {
	for _, o := range []outbox.Ordering{outbox.Strict, outbox.ByKey} {
		for at := range int64(12) {
			t.Run(fmt.Sprint(o, " read ", at+1), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, 1)
					b.append(append([]string{"bad"}, keysOf(60)...)...)
					var cured atomic.Bool
					b.refuse(errRefused, func(n string) bool { return n == "bad1" && !cured.Load() })
					store := &moved{Memory: b.store, at: at + 1}
					r, err := outbox.NewRelay(store, b.pub, outbox.RelayConfig{Ordering: o, MinBatch: 10, MaxBatch: 10, Chunk: 1})
					require.NoError(t, err)
					ctx, cancel := context.WithCancel(t.Context())
					done := make(chan error, 1)
					go func() { done <- r.Run(ctx) }()
					time.Sleep(time.Minute)
					cured.Store(true)
					time.Sleep(time.Minute)
					if n := store.leases.Load(); n != 2 {
						t.Errorf("the lease was taken %d times, want again after the read at which the server was another", n)
					}
					assert.Equal(t, 61, len(b.names()), "events were published")
					// Only events that had passed the failing event in its batch are repeated.
					if n := outboxtest.Duplicates(b.pub.Published()); n > 20 {
						t.Errorf("%d events came twice, want a batch and its probes at most", n)
					}
					cancel()
					if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				})
			})
		}
	}
}

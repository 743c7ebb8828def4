package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/sqltx"
)

// chance is a random source for several goroutines.
type chance struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (c *chance) below(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.r.IntN(n)
}

func (c *chance) percent(p int) bool { return c.below(100) < p }

// flakyStore fails some calls, before or after they took effect.
type flakyStore struct {
	*outboxtest.Memory
	c     *chance
	rate  int
	quiet *sync.Map // key "quiet" set: no more failures
}

var errFlaky = errors.New("the database went away")

func (s *flakyStore) fails() bool {
	_, quiet := s.quiet.Load("quiet")
	return !quiet && s.c.percent(s.rate)
}

func (s *flakyStore) Settle(ctx context.Context, l driver.Lease, set driver.Settlement) error {
	if s.fails() {
		return errFlaky
	}
	if err := s.Memory.Settle(ctx, l, set); err != nil {
		return err
	}
	if s.fails() {
		return errFlaky // the answer to the COMMIT was lost
	}
	return nil
}

func (s *flakyStore) Read(ctx context.Context, l driver.Lease, q driver.Query) (driver.Batch, error) {
	if s.fails() {
		return driver.Batch{}, errFlaky
	}
	return s.Memory.Read(ctx, l, q)
}

func (s *flakyStore) Lease(ctx context.Context, shard int, holder string, ttl time.Duration) (driver.Lease, error) {
	if s.fails() {
		return driver.Lease{}, errFlaky
	}
	return s.Memory.Lease(ctx, shard, holder, ttl)
}

type scenario struct {
	seed                                    uint64
	ordering                                outbox.Ordering
	shards, keys, events, writers           int
	minBatch, maxBatch, lanes, chunk, aside int
	failRate, failures, storeRate, restarts int
	slow, unsettled                         bool
}

func drawScenario(t *rapid.T) scenario {
	n := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
	s := scenario{
		seed: rapid.Uint64().Draw(t, "seed"), ordering: outbox.Ordering(n("ordering", 1, 2)),
		shards: n("shards", 1, 3), keys: n("keys", 1, 12), events: n("events", 1, 150), writers: n("writers", 1, 3),
		minBatch: n("minBatch", 1, 20), lanes: n("lanes", 1, 5), chunk: n("chunk", 1, 10), aside: n("aside", 1, 40),
		failRate: n("failRate", 0, 60), failures: n("failures", 0, 6), storeRate: n("storeRate", 0, 30),
		restarts: n("restarts", 0, 3), slow: rapid.Bool().Draw(t, "slow"),
	}
	s.maxBatch = s.minBatch + n("moreBatch", 0, 40)
	return s
}

// play runs the scenario in its own synctest bubble, and returns the violated promise.
func (s scenario) play() error {
	c := &chance{r: rand.New(rand.NewPCG(s.seed, 1))}
	store := &flakyStore{Memory: outboxtest.NewMemory(s.shards), c: c, rate: s.storeRate, quiet: &sync.Map{}}
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	left := map[string]int{} // how often an event may still fail
	var refused sync.Map     // events with a permanent error
	pub := &outboxtest.Publisher{Fail: func(_ string, e event.Event) error {
		if s.slow {
			time.Sleep(time.Duration(c.below(50)) * time.Millisecond)
		}
		mu.Lock()
		defer mu.Unlock()
		n, ok := left[e.ID]
		if !ok {
			n = s.failures
		}
		if n == 0 || !c.percent(s.failRate) {
			return nil
		}
		left[e.ID] = n - 1
		switch c.below(4) {
		case 0:
			return fault.MarkInfrastructure(errors.New("the broker is away"))
		case 1:
			refused.Store(e.ID, fmt.Sprint(e.Key(), "#", e.Sequence))
			return fault.MarkPermanent(errors.New("the broker refuses"))
		case 2:
			panic("the publisher is broken")
		default:
			return errors.New("the broker is slow")
		}
	}}
	cfg := outbox.RelayConfig{
		Ordering: s.ordering, MinBatch: s.minBatch, MaxBatch: s.maxBatch, Lanes: s.lanes, Chunk: s.chunk,
		MaxAside: s.aside, MaxAge: -1, Retention: time.Second,
	}

	ctx := context.Background()
	var writing sync.WaitGroup
	var committed sync.Map
	for range s.writers {
		writing.Go(func() {
			for range s.events / s.writers {
				time.Sleep(time.Duration(c.below(200)) * time.Millisecond)
				key := fmt.Sprint("k", c.below(s.keys))
				// The sequence number is taken while, in a database, the row's lock would be
				// held until the commit.
				mu.Lock()
				seq, _ := committed.LoadOrStore(key, 0)
				n := seq.(int) + 1
				if c.percent(90) {
					e, err := outboxtest.NewEvent(key, n)
					if err == nil {
						err = store.Do(ctx, func(ctx context.Context, tx sqltx.Execer) error { return box.Append(ctx, tx, e) })
					}
					if err != nil {
						panic(err)
					}
					committed.Store(key, n)
				}
				mu.Unlock()
			}
		})
	}
	for range s.restarts {
		r, err := outbox.NewRelay(store, pub, cfg)
		if err != nil {
			return err
		}
		run, stop := context.WithTimeout(ctx, time.Duration(c.below(5000))*time.Millisecond)
		err = r.Run(run)
		stop()
		if err != nil && !errors.Is(err, errFlaky) {
			return err
		}
		if err != nil {
			s.unsettled = true // so events may come twice
		}
	}
	writing.Wait()
	store.quiet.Store("quiet", true)
	r, err := outbox.NewRelay(store, pub, cfg)
	if err != nil {
		return err
	}
	end, stop := context.WithTimeout(ctx, 6*time.Hour)
	defer stop()
	if err := r.Drain(end); err != nil {
		st, _ := store.Stats(ctx)
		return fmt.Errorf("%w: %+v", err, st)
	}
	parked, err := store.Parked(ctx, 0, 1000)
	if err != nil {
		return err
	}
	return s.judge(pub.Published(), parked, &refused, &committed)
}

func (s scenario) judge(got []outboxtest.Publication, parked []driver.ParkedEvent, refused, committed *sync.Map) error {
	seen, want := map[string]bool{}, 0
	for _, p := range parked {
		of, ok := refused.Load(p.MessageID)
		if !ok {
			return fmt.Errorf("event %s of %s was parked after %q, which is not permanent", p.MessageID, p.Key, p.LastError)
		}
		seen[of.(string)] = true
	}
	for _, g := range got {
		seen[fmt.Sprint(g.Event.Key(), "#", g.Event.Sequence)] = true
	}
	var err error
	committed.Range(func(key, n any) bool {
		want += n.(int)
		for i := 1; i <= n.(int); i++ {
			if !seen[fmt.Sprint(key, "#", i)] {
				err = fmt.Errorf("event %d of %s was lost", i, key)
				return false
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	if len(seen) != want {
		return fmt.Errorf("%d events were published, %d committed", len(seen), want)
	}
	// A parked event behind one that keeps its place is retried after a restart.
	got = slices.DeleteFunc(slices.Clone(got), func(g outboxtest.Publication) bool {
		return slices.ContainsFunc(parked, func(p driver.ParkedEvent) bool { return p.MessageID == g.Event.ID })
	})
	if n := outboxtest.Inversions(got); n > 0 {
		return fmt.Errorf("%d events were first published after a later one of their key", n)
	}
	// A failed call with many messages may have published some; and a relay that stops while a
	// failing event blocks its shard leaves a batch half confirmed.
	twice := s.unsettled || s.failRate > 0 && (s.chunk > 1 || s.restarts > 0)
	if n := outboxtest.Duplicates(got); n > 0 && !twice {
		return fmt.Errorf("%d events were published twice", n)
	}
	return nil
}

// TestNothingLostNothingReordered runs the relay with random failures of the publisher and the
// store, and with restarts.
func TestNothingLostNothingReordered(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScenario(rt)
		var err error
		synctest.Test(t, func(*testing.T) { err = s.play() })
		require.NoError(rt, err)
	})
}

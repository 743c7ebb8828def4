package counter_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
)

// start runs a flusher until the test calls stop.
func start(t *testing.T, f *counter.Counter) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		assert.NoError(t, <-ended, "Run ended with")
	}
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, applier := memcounter.New(), memcounter.NewApplier()
		c := newCounter(t, store, counter.Config{Applier: applier})
		add := func() {
			t.Helper()
			require.NoError(t, c.Add(t.Context(), "post-1", 1))
		}
		counts := func(total, all int64) {
			t.Helper()
			synctest.Wait()
			wantTotals(t, applier, map[string]int64{"post-1": total})
			if got, err := c.Counts(t.Context(), "post-1", "post-1"); err != nil || got["post-1"] != all {
				t.Errorf("counts %v (%v), want %d", got, err, all)
			}
		}
		add()
		stop := start(t, newFlusher(t, store, applier, counter.Config{}))
		counts(1, 1) // at once
		add()
		counts(1, 2)
		time.Sleep(2900 * time.Millisecond)
		counts(1, 2)
		time.Sleep(100 * time.Millisecond)
		counts(2, 2)
		stop()
	})
}

func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, applier := memcounter.New(), memcounter.NewApplier()
		first := newFlusher(t, store, applier, counter.Config{})
		second := newFlusher(t, store, applier, counter.Config{})
		stopFirst := start(t, first)
		synctest.Wait()
		stopSecond := start(t, second)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if a, b := first.Stats(), second.Stats(); a.Rounds != 11 || a.Standby != 0 || b.Rounds != 0 || b.Standby != 11 || b.FailedRounds != 0 {
			t.Errorf("first %+v, second %+v", a, b)
		}
		// The lease is released, so the second flusher has it at its next round.
		stopFirst()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if b := second.Stats(); b.Rounds != 1 {
			t.Errorf("second %+v", b)
		}
		stopSecond()
	})
}

// TestStaleFlusher: a flusher that was stopped in the middle of its round finds that another
// one has continued, and adds nothing.
func TestStaleFlusher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, log := range []driver.MemoryLog{nil, memcounter.NewLog()} {
			store, applier := memcounter.New(), memcounter.NewApplier()
			cfg := counter.Config{}
			if log != nil {
				cfg.Source = log
				require.NoError(t, log.Append(counter.Change{Key: "post-1", N: 5}))
			}
			require.NoError(t, store.Add(t.Context(), "comment", "post-1", 5))
			stall := &stallingApplier{Applier: applier, reached: make(chan struct{}), goOn: make(chan struct{})}
			stale := newFlusher(t, store, stall, cfg)
			ended := make(chan error, 1)
			go func() {
				_, err := stale.Flush(t.Context())
				ended <- err
			}()
			<-stall.reached
			time.Sleep(31 * time.Second)
			flush(t, newFlusher(t, store, applier, cfg))
			close(stall.goOn)
			assert.ErrorIs(t, <-ended, driver.ErrLeaseLost, "the stale flusher")
			wantTotals(t, applier, map[string]int64{"post-1": 5})
		}
	})
}

type stallingApplier struct {
	driver.Applier
	reached, goOn chan struct{}
	once          sync.Once
}

func (a *stallingApplier) Apply(ctx context.Context, l driver.Lease, b driver.Batch) (bool, error) {
	a.once.Do(func() { close(a.reached) })
	<-a.goOn
	return a.Applier.Apply(context.WithoutCancel(ctx), l, b) // it does not know that it is late
}

// failingStore fails while the test says so.
type failingStore struct {
	driver.Store
	mu  sync.Mutex
	err error
}

func (s *failingStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *failingStore) now() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *failingStore) Add(ctx context.Context, name, key string, n int64) error {
	if err := s.now(); err != nil {
		return err
	}
	return s.Store.Add(ctx, name, key, n)
}

func (s *failingStore) Pending(ctx context.Context, name string, keys []string) (map[string]int64, error) {
	if err := s.now(); err != nil {
		return nil, err
	}
	return s.Store.Pending(ctx, name, keys)
}

func (s *failingStore) Aside(ctx context.Context, name string) ([]driver.Taken, error) {
	if err := s.now(); err != nil {
		return nil, err
	}
	return s.Store.Aside(ctx, name)
}

// TestStoreAway: without its store a flusher with a source continues, and logs the failure
// once.
func TestStoreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		away := errors.New("away")
		store := &failingStore{Store: memcounter.New(), err: away}
		applier, log := memcounter.NewApplier(), memcounter.NewLog()
		f := newFlusher(t, store, applier, counter.Config{Source: log, Logger: slog.New(slog.NewTextHandler(&said, nil))})
		stop := start(t, f)
		require.NoError(t, log.Append(counter.Change{Key: "post-1", N: 1}))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		wantTotals(t, applier, map[string]int64{"post-1": 1})
		if s := f.Stats(); s.FailedRounds != 4 || s.Rounds != 0 {
			t.Errorf("%+v", s)
		}
		store.fail(nil)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		stop()
		if n := strings.Count(said.String(), "flushing fails"); n != 1 || strings.Count(said.String(), "works again") != 1 {
			t.Errorf("said:\n%s", said.String())
		}
	})
}

// hangingApplier never answers the first Apply.
type hangingApplier struct {
	driver.Applier
	once sync.Once
}

func (a *hangingApplier) Apply(ctx context.Context, l driver.Lease, b driver.Batch) (fresh bool, err error) {
	a.once.Do(func() {
		<-ctx.Done()
		err = ctx.Err()
	})
	if err != nil {
		return false, err
	}
	return a.Applier.Apply(ctx, l, b)
}

// TestCallThatHangs: a hanging call is cancelled after 30 s, and the next round does its work.
func TestCallThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, applier := memcounter.New(), memcounter.NewApplier()
		require.NoError(t, store.Add(t.Context(), "comment", "post-1", 5))
		f := newFlusher(t, store, &hangingApplier{Applier: applier}, counter.Config{})
		stop := start(t, f)
		time.Sleep(29 * time.Second)
		synctest.Wait()
		wantTotals(t, applier, map[string]int64{"post-1": 0})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		wantTotals(t, applier, map[string]int64{"post-1": 5})
		if s := f.Stats(); s.FailedRounds != 1 || s.Batches != 1 {
			t.Errorf("%+v", s)
		}
		stop()
	})
}

// TestOldGoes: old records of batches, and old change rows, are deleted after they are applied.
func TestOldGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, applier, log := memcounter.New(), memcounter.NewApplier(), memcounter.NewLog()
		f := newFlusher(t, store, applier, counter.Config{Source: log, Keep: time.Hour})
		for range 3 {
			require.NoError(t, log.Append(counter.Change{Key: "post-1", N: 1}))
			flush(t, f)
			time.Sleep(50 * time.Minute)
		}
		flush(t, f)
		// Two of three are older than an hour, of rows and of batches.
		changes, _, err := log.Read(t.Context(), "", 10)
		if err != nil || len(changes) != 1 {
			t.Errorf("%d change rows are left (%v), want 1", len(changes), err)
		}
		if n, err := applier.Prune(t.Context(), "comment", 0, 10); err != nil || n != 1 {
			t.Errorf("%d batches are left (%v), want 1", n, err)
		}
		wantTotals(t, applier, map[string]int64{"post-1": 3})
	})
}

// TestMuchThatIsOldGoes: even a large amount of old data is deleted faster than it grew.
func TestMuchThatIsOldGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, applier, log := memcounter.New(), memcounter.NewApplier(), memcounter.NewLog()
		f := newFlusher(t, store, applier, counter.Config{Source: log, Keep: time.Hour})
		for range 25_000 {
			require.NoError(t, log.Append(counter.Change{Key: "post-1", N: 1}))
		}
		flush(t, f)
		time.Sleep(2 * time.Hour)
		for _, want := range []int{15_000, 5000, 0} {
			flush(t, f)
			changes, _, err := log.Read(t.Context(), "", 25_000)
			if err != nil || len(changes) != want {
				t.Errorf("%d change rows are left (%v), want %d", len(changes), err, want)
			}
		}
		wantTotals(t, applier, map[string]int64{"post-1": 25_000})
	})
}

func TestObserve(t *testing.T) {
	store, applier := memcounter.New(), memcounter.NewApplier()
	var seen []counter.Round
	f := newFlusher(t, store, applier, counter.Config{Observe: func(r counter.Round) { seen = append(seen, r) }})
	flush(t, f)
	require.NoError(t, store.Add(t.Context(), "comment", "post-1", 2))
	flush(t, f)
	if len(seen) != 1 || seen[0].Counter != "comment" || len(seen[0].Batches) != 1 || seen[0].Batches[0].Deltas[0].N != 2 {
		t.Errorf("observed %+v", seen)
	}
	if s := f.Stats(); s.Rounds != 2 || s.Batches != 1 || s.Rows != 1 {
		t.Errorf("%+v", s)
	}
}

func TestChecks(t *testing.T) {
	c, store := newCounter(t, memcounter.New(), counter.Config{}), memcounter.New()
	for want, err := range map[string]error{
		"the name":       second(counter.New("Comment", store, counter.Config{})),
		"store is nil":   second(counter.New("comment", nil, counter.Config{})),
		"Config.Every":   second(counter.New("comment", store, counter.Config{Every: -1})),
		"Config.Batch":   second(counter.New("comment", store, counter.Config{Batch: 4001})),
		"Config.Lease":   second(counter.New("comment", store, counter.Config{Lease: time.Second})),
		"Config.Keep":    second(counter.New("comment", store, counter.Config{Keep: time.Minute})),
		"Config.Timeout": second(counter.New("comment", store, counter.Config{Timeout: -1})),
		"Config.Rest":    second(counter.New("comment", store, counter.Config{Rest: -1})),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want an error about %s", err, want)
		}
	}
	for call, err := range map[string]error{"Counts": second(c.Counts(t.Context(), "a")), "Flush": second(c.Flush(t.Context())), "Run": c.Run(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "Config.Applier is nil") {
			t.Errorf("%s without an applier: %v", call, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

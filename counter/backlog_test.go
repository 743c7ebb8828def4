package counter_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
)

// TestBacklog: a round is bounded, and keeps the deltas until all their rows are applied; a
// running flusher continues at once.
func TestBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, applier, log := memcounter.New(), memcounter.NewApplier(), memcounter.NewLog()
		f := newFlusher(t, store, applier, counter.Config{Source: log, Batch: 1})
		write := func() {
			t.Helper()
			for range 300 {
				require.NoError(t, log.Append(counter.Change{Key: "post-1", N: 1}))
			}
			require.NoError(t, store.Add(t.Context(), "comment", "post-1", 300))
		}
		write()
		if r := flush(t, f); !r.More || len(r.Batches) != 256 || len(r.Discarded) != 0 {
			t.Errorf("more %t, %d batches, discarded %v", r.More, len(r.Batches), r.Discarded)
		}
		if r := flush(t, f); r.More || len(r.Batches) != 44 || len(r.Discarded) != 1 {
			t.Errorf("more %t, %d batches, discarded %v", r.More, len(r.Batches), r.Discarded)
		}
		write()
		stop := start(t, f)
		synctest.Wait()
		wantTotals(t, applier, map[string]int64{"post-1": 600})
		stop()
	})
}

// busyStore is a store to which deltas are added at every call.
type busyStore struct {
	driver.Store
	takes int
}

func (s *busyStore) Take(ctx context.Context, name string, limit int) ([]driver.Taken, error) {
	s.takes++
	taken, err := s.Store.Take(ctx, name, limit)
	return taken, errors.Join(err, s.Store.Add(ctx, name, "post-1", 1))
}

// TestRoundsEnd: deltas added during a round are for the next one, however many there are.
func TestRoundsEnd(t *testing.T) {
	for _, source := range []driver.Source{nil, memcounter.NewLog()} {
		store, applier := &busyStore{Store: memcounter.New()}, memcounter.NewApplier()
		f := newFlusher(t, store, applier, counter.Config{Source: source})
		require.NoError(t, store.Add(t.Context(), "comment", "post-1", 1))
		for round := 1; round <= 3; round++ {
			if r := flush(t, f); r.More || len(r.Batches)+len(r.Discarded) != 1 || store.takes != round {
				t.Errorf("round %d took %d times in all: %+v", round, store.takes, r)
			}
		}
	}
}

// TestBacklogOfDeltas: the same without a source.
func TestBacklogOfDeltas(t *testing.T) {
	store, applier := memcounter.New(), memcounter.NewApplier()
	f := newFlusher(t, store, applier, counter.Config{Batch: 1})
	for i := range 65 {
		require.NoError(t, store.Add(t.Context(), "comment", fmt.Sprint("post-", i), 1))
	}
	if r := flush(t, f); !r.More || len(r.Batches) != 64 {
		t.Errorf("more %t, %d batches", r.More, len(r.Batches))
	}
	if r := flush(t, f); r.More || len(r.Batches) != 1 {
		t.Errorf("more %t, %d batches", r.More, len(r.Batches))
	}
}

package counter_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
)

// TestCrashAtEveryCall: a flusher crashes at each of its calls in turn, before and after the
// call is executed, while deltas are added; the next flusher finds its state.
func TestCrashAtEveryCall(t *testing.T) {
	for _, sourced := range []bool{false, true} {
		for _, after := range []bool{false, true} {
			for at := 1; ; at++ {
				if !crashAt(t, sourced, &crash{at: at, after: after}) {
					if at < 5 {
						t.Errorf("only %d calls to die at", at-1)
					}
					break
				}
			}
		}
	}
}

// crashAt reports whether there was a call at which to crash.
func crashAt(t *testing.T, sourced bool, c *crash) bool {
	t.Helper()
	name := fmt.Sprintf("source %t, call %d, carried out %t", sourced, c.at, c.after)
	store, applier, log := memcounter.New(), memcounter.NewApplier(), memcounter.NewLog()
	want := map[string]int64{}
	write := func(key string, n int64) {
		want[key] += n
		require.NoError(t, log.Append(counter.Change{Key: key, N: n}))
		require.NoError(t, store.Add(t.Context(), "comment", key, n))
	}
	cfg := func(s driver.Source) counter.Config {
		out := counter.Config{Batch: 3, Every: time.Nanosecond, Lease: time.Nanosecond * 2}
		if sourced {
			out.Source = s
		}
		return out
	}
	for i := range 7 {
		write(fmt.Sprint("post-", i), int64(i+1))
	}
	dying := newFlusher(t, crashStore{store, c}, crashApplier{applier, c}, cfg(crashSource{log, c}))
	_, err := dying.Flush(t.Context())
	if c.dead != errors.Is(err, errCrash) {
		t.Fatalf("%s: died %t, error %v", name, c.dead, err)
	}
	for i := range 4 {
		write(fmt.Sprint("post-", i*2), -1)
	}
	flush(t, newFlusher(t, store, applier, cfg(log)))
	wantTotals(t, applier, want)
	if t.Failed() {
		t.Fatal(name)
	}
	pending, err := newCounter(t, store, counter.Config{}).Pending(t.Context(), "post-0", "post-1", "post-6")
	if err != nil || pending["post-0"]+pending["post-1"]+pending["post-6"] != 0 {
		t.Fatalf("%s: pending %v (%v)", name, pending, err)
	}
	return c.dead
}

// TestRowsAreTheTruth: changes that Redis missed, got twice or lost are right after the next
// flush, which reads no row twice.
func TestRowsAreTheTruth(t *testing.T) {
	store, applier, log := memcounter.New(), memcounter.NewApplier(), memcounter.NewLog()
	f := newFlusher(t, store, applier, counter.Config{Source: log, Batch: 2})
	add := func(key string, rows, adds int) {
		t.Helper()
		for range rows {
			require.NoError(t, log.Append(counter.Change{Key: key, N: 1}))
		}
		for range adds {
			require.NoError(t, store.Add(t.Context(), "comment", key, 1))
		}
	}
	add("normal", 5, 5)
	add("died", 3, 2) // between its commit and the addition
	add("twice", 2, 3)
	r := flush(t, f)
	wantTotals(t, applier, map[string]int64{"normal": 5, "died": 3, "twice": 2})
	if rows(r) != 10 || discarded(r)["died"] != 2 || discarded(r)["twice"] != 3 {
		t.Errorf("read %d rows, discarded %v", rows(r), discarded(r))
	}
	add("lost", 4, 4)
	store.Lose()
	add("late", 1, 0)
	r = flush(t, f)
	wantTotals(t, applier, map[string]int64{"normal": 5, "lost": 4, "late": 1})
	if rows(r) != 5 || len(discarded(r)) != 0 {
		t.Errorf("read %d rows of 15, want the 5 of the interval; discarded %v", rows(r), discarded(r))
	}
	// The addition of an applied row is late.
	add("late", 0, 1)
	r = flush(t, f)
	wantTotals(t, applier, map[string]int64{"late": 1})
	if rows(r) != 0 || discarded(r)["late"] != 1 {
		t.Errorf("read %d rows, discarded %v", rows(r), discarded(r))
	}
}

// hookedSource calls a function once, after its first read.
type hookedSource struct {
	driver.Source
	hook func()
}

func (s *hookedSource) Read(ctx context.Context, after string, limit int) ([]counter.Change, string, error) {
	out, next, err := s.Source.Read(ctx, after, limit)
	if s.hook != nil {
		s.hook()
		s.hook = nil
	}
	return out, next, err
}

// TestLaterDeltasStay: deltas added while rows are read are not dropped with the earlier ones.
func TestLaterDeltasStay(t *testing.T) {
	store, applier, log := memcounter.New(), memcounter.NewApplier(), memcounter.NewLog()
	write := func() {
		assert.NoError(t, log.Append(counter.Change{Key: "post-1", N: 1}))
		assert.NoError(t, store.Add(t.Context(), "comment", "post-1", 1))
	}
	f := newFlusher(t, store, applier, counter.Config{Source: &hookedSource{log, write}})
	c := newCounter(t, store, counter.Config{Applier: applier})
	write()
	for _, total := range []int64{1, 2} {
		flush(t, f)
		wantTotals(t, applier, map[string]int64{"post-1": total})
		if got, err := c.Counts(t.Context(), "post-1"); err != nil || got["post-1"] != 2 {
			t.Errorf("readers see %v (%v), want 2", got, err)
		}
	}
}

func rows(r counter.Round) (n int) {
	for _, b := range r.Batches {
		n += b.Rows
	}
	return n
}

func discarded(r counter.Round) map[string]int64 {
	out := map[string]int64{}
	for _, taken := range r.Discarded {
		for _, d := range taken.Deltas {
			out[d.Key] += d.N
		}
	}
	return out
}

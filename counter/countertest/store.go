package countertest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

// StoreHarness is a store under test.
type StoreHarness struct {
	Store driver.Store
	// Peer is the same store, opened by another process; Store when nil.
	Peer driver.Store
}

func (h StoreHarness) peer() driver.Store {
	if h.Peer == nil {
		return h.Store
	}
	return h.Peer
}

// RunStore runs every case as a subtest, each on its own harness.
func RunStore(t *testing.T, open func(t *testing.T) StoreHarness) {
	t.Helper()
	StoreSuite().Run(t, open)
}

// StoreSuite returns the guarantees of a store.
func StoreSuite() conformance.Suite[StoreHarness] {
	return conformance.Suite[StoreHarness]{Cases: []conformance.Case[StoreHarness]{
		{Name: "TakenAndForgotten", Run: takenAndForgotten},
		{Name: "ZeroIsNotTaken", Run: zeroIsNotTaken},
		{Name: "Keys", Run: keysApart},
		{Name: "CountersApart", Run: countersApart},
		{Name: "Bounded", Run: bounded},
		{Name: "NoneIsLeft", Run: noneIsLeft},
		{Name: "AddedLater", Run: addedLater},
		{Name: "LargeSums", Run: largeSums},
		{Name: "ForgetOne", Run: forgetOne},
		{Name: "ForgetTwice", Run: forgetTwice},
		{Name: "Concurrent", Run: concurrentAdds},
	}}
}

// takeAll takes until the store is empty and sums by key; a key may be in several batches.
func takeAll(ctx context.Context, s driver.Store, name string, limit int) (map[string]int64, []string, error) {
	sums := map[string]int64{}
	var ids []string
	for {
		taken, err := s.Take(ctx, name, limit)
		if err != nil || len(taken) == 0 {
			return sums, ids, err
		}
		if err := addUp(taken, limit, sums, &ids); err != nil {
			return sums, ids, err
		}
		if len(ids) > most {
			return sums, ids, fmt.Errorf("more than %d batches were taken, with no end", most)
		}
	}
}

func addUp(taken []driver.Taken, limit int, sums map[string]int64, ids *[]string) error {
	for _, t := range taken {
		if t.ID == "" || slices.Contains(*ids, t.ID) {
			return fmt.Errorf("the id %q is none of its own", t.ID)
		}
		*ids = append(*ids, t.ID)
		if n := len(t.Deltas); n == 0 || n > limit {
			return fmt.Errorf("a batch has %d keys; want 1 to %d", n, limit)
		}
		seen := map[string]bool{}
		for _, d := range t.Deltas {
			if d.N == 0 || seen[d.Key] {
				return fmt.Errorf("%q with %d is zero, or twice in its batch", d.Key, d.N)
			}
			seen[d.Key] = true
			sums[d.Key] += d.N
		}
	}
	return nil
}

func pending(ctx context.Context, s driver.Store, name, key string, want int64) error {
	got, err := s.Pending(ctx, name, []string{key, "never-" + key})
	if err != nil {
		return err
	}
	if got[key] != want || got["never-"+key] != 0 {
		return fmt.Errorf("pending of %q: got %v, want %d of it alone", key, got, want)
	}
	return nil
}

func add(ctx context.Context, s driver.Store, name string, deltas ...driver.Delta) error {
	for _, d := range deltas {
		if err := s.Add(ctx, name, d.Key, d.N); err != nil {
			return err
		}
	}
	return nil
}

func takenAndForgotten(ctx context.Context, h StoreHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	steps.Do(add(ctx, h.Store, name, driver.Delta{Key: "a", N: 5}, driver.Delta{Key: "a", N: -7}, driver.Delta{Key: "b", N: 1}))
	steps.Do(pending(ctx, h.peer(), name, "a", -2))
	sums, ids := steps.Two(takeAll(ctx, h.Store, name, 10))
	steps.Do(expect("taken", sums, map[string]int64{"a": -2, "b": 1}))
	steps.Named(pending(ctx, h.peer(), name, "a", -2), "aside")
	// Another process finds the taken deltas after this one has crashed.
	aside := map[string]int64{}
	var again []string
	for {
		batches := steps.Get(h.peer().Aside(ctx, name))
		if len(batches) == 0 {
			break
		}
		steps.Do(addUp(batches, 10, aside, &again))
		for _, b := range batches {
			steps.Do(h.peer().Forget(ctx, name, []string{b.ID}))
		}
	}
	steps.Do(expect("aside", aside, sums))
	slices.Sort(ids)
	slices.Sort(again)
	steps.Do(expect("ids aside", again, ids))
	steps.Named(pending(ctx, h.Store, name, "a", 0), "forgotten")
	sums, _ = steps.Two(takeAll(ctx, h.Store, name, 10))
	return expect("taken after all", sums, map[string]int64{})
}

func zeroIsNotTaken(ctx context.Context, h StoreHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	steps.Do(add(ctx, h.Store, name, driver.Delta{Key: "a", N: 2}, driver.Delta{Key: "a", N: -2}))
	sums, ids := steps.Two(takeAll(ctx, h.Store, name, 10))
	return expect("taken", fmt.Sprint(sums, ids), "map[] []")
}

func keysApart(ctx context.Context, h StoreHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	want := map[string]int64{}
	for i, key := range odd {
		want[key] = int64(i + 1)
		steps.Named(h.Store.Add(ctx, name, key, int64(i+1)), "%q", key)
	}
	for key, n := range want {
		steps.Do(pending(ctx, h.Store, name, key, n))
	}
	sums, _ := steps.Two(takeAll(ctx, h.Store, name, 100))
	return expect("taken", sums, want)
}

func countersApart(ctx context.Context, h StoreHarness) (err error) {
	defer steps.End(&err)
	one, other := fresh(), fresh()
	steps.Do(add(ctx, h.Store, one, driver.Delta{Key: "a", N: 1}))
	sums, _ := steps.Two(takeAll(ctx, h.Store, other, 10))
	steps.Do(expect("taken of another counter", sums, map[string]int64{}))
	steps.Do(pending(ctx, h.Store, other, "a", 0))
	steps.Do(pending(ctx, h.Store, one, "a", 1))
	steps.Two(takeAll(ctx, h.Store, one, 10))
	return expect("aside of another counter", len(steps.Get(h.peer().Aside(ctx, other))), 0)
}

func bounded(ctx context.Context, h StoreHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	want := map[string]int64{}
	for i := range 100 {
		key := fmt.Sprintf("key-%d", i)
		want[key] = 1
		steps.Do(h.Store.Add(ctx, name, key, 1))
	}
	sums, _ := steps.Two(takeAll(ctx, h.Store, name, 3))
	return expect("taken", sums, want)
}

// noneIsLeft takes as flushers do, which stop when no batch is full.
func noneIsLeft(ctx context.Context, h StoreHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	want, sums := map[string]int64{}, map[string]int64{}
	for i := range 100 {
		key := fmt.Sprintf("key-%d", i)
		want[key] = 1
		steps.Do(h.Store.Add(ctx, name, key, 1))
	}
	var ids []string
	for full := true; full; {
		const limit = 7
		taken := steps.Get(h.Store.Take(ctx, name, limit))
		steps.Do(addUp(taken, limit, sums, &ids))
		full = slices.ContainsFunc(taken, func(t driver.Taken) bool { return len(t.Deltas) == limit })
	}
	return expect("taken", sums, want)
}

func addedLater(ctx context.Context, h StoreHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	steps.Do(add(ctx, h.Store, name, driver.Delta{Key: "a", N: 1}))
	_, first := steps.Two(takeAll(ctx, h.Store, name, 10))
	steps.Do(add(ctx, h.Store, name, driver.Delta{Key: "a", N: 10}))
	steps.Do(pending(ctx, h.Store, name, "a", 11))
	steps.Do(h.Store.Forget(ctx, name, first))
	steps.Do(pending(ctx, h.Store, name, "a", 10))
	sums, _ := steps.Two(takeAll(ctx, h.Store, name, 10))
	return expect("taken later", sums, map[string]int64{"a": 10})
}

func largeSums(ctx context.Context, h StoreHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	const large = 1<<53 + 1
	steps.Do(add(ctx, h.Store, name, driver.Delta{Key: "a", N: large}, driver.Delta{Key: "b", N: -large}))
	steps.Do(pending(ctx, h.Store, name, "a", large))
	sums, _ := steps.Two(takeAll(ctx, h.Store, name, 10))
	return expect("taken", sums, map[string]int64{"a": large, "b": -large})
}

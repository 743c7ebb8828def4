package countertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

// ApplierHarness is an applier under test.
type ApplierHarness struct {
	Applier driver.Applier
	// Peer is the same applier, opened by another process; Applier when nil.
	Peer driver.Applier
}

func (h ApplierHarness) peer() driver.Applier {
	if h.Peer == nil {
		return h.Applier
	}
	return h.Peer
}

// RunApplier runs every case as a subtest, each on its own harness.
func RunApplier(t *testing.T, open func(t *testing.T) ApplierHarness) {
	t.Helper()
	ApplierSuite().Run(t, open)
}

// ApplierSuite returns the guarantees of an applier.
func ApplierSuite() conformance.Suite[ApplierHarness] {
	return conformance.Suite[ApplierHarness]{Cases: []conformance.Case[ApplierHarness]{
		{Name: "LeaseHeld", Run: leaseHeld},
		{Name: "LeaseEnds", Run: leaseEnds},
		{Name: "LeaseLost", Run: leaseLost},
		{Name: "ReleaseOld", Run: releaseOld},
		{Name: "AppliedOnce", Run: appliedOnce},
		{Name: "Interval", Run: intervals},
		{Name: "EmptyInterval", Run: emptyInterval},
		{Name: "OtherServer", Run: otherServer},
		{Name: "Verify", Run: verify},
		{Name: "Totals", Run: totals},
		{Name: "CountersApart", Run: countersAreApart},
		{Name: "Prune", Run: prune},
		{Name: "Concurrent", Run: concurrentApplies},
	}}
}

const long = time.Hour

func one(id string, deltas ...driver.Delta) driver.Batch {
	return driver.Batch{ID: id, Rows: len(deltas), Deltas: deltas}
}

func apply(ctx context.Context, a driver.Applier, l driver.Lease, b driver.Batch, want bool) error {
	fresh, err := a.Apply(ctx, l, b)
	if err != nil {
		return fmt.Errorf("apply %s: %w", b.ID, err)
	}
	if fresh != want {
		return fmt.Errorf("apply %s: applied %t, want %t", b.ID, fresh, want)
	}
	return nil
}

func total(ctx context.Context, a driver.Applier, name, key string, want int64) error {
	got, err := a.Totals(ctx, name, []string{key})
	if err != nil {
		return err
	}
	if got[key] != want {
		return fmt.Errorf("total of %q: %d, want %d", key, got[key], want)
	}
	return nil
}

func appliedOnce(ctx context.Context, h ApplierHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	l := steps.Get(h.Applier.Lease(ctx, name, "one", long))
	b := one(fresh(), driver.Delta{Key: "a", N: 3}, driver.Delta{Key: "b", N: -1})
	steps.Do(apply(ctx, h.Applier, l, b, true))
	steps.Do(apply(ctx, h.peer(), l, b, false))
	steps.Do(total(ctx, h.peer(), name, "a", 3))
	steps.Do(apply(ctx, h.Applier, l, one(fresh(), driver.Delta{Key: "a", N: -5}), true))
	return total(ctx, h.peer(), name, "a", -2)
}

func intervals(ctx context.Context, h ApplierHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	l := steps.Get(h.Applier.Lease(ctx, name, "one", long))
	step := func(id, from, to string) driver.Batch {
		return driver.Batch{ID: id, From: from, To: to, Rows: 1, Deltas: []driver.Delta{{Key: "a", N: 1}}}
	}
	first := fresh()
	steps.Do(apply(ctx, h.Applier, l, step(first, "", "p1"), true))
	steps.Do(apply(ctx, h.Applier, l, step(first, "", "p1"), false))
	for _, from := range []string{"", "p0"} {
		if _, err := h.peer().Apply(ctx, l, step(fresh(), from, "p9")); !errors.Is(err, driver.ErrMoved) {
			return fmt.Errorf("an interval from %q at p1: %v, want %v", from, err, driver.ErrMoved)
		}
	}
	// Deltas have no interval, and do not move the position.
	steps.Do(apply(ctx, h.Applier, l, one(fresh(), driver.Delta{Key: "b", N: 1}), true))
	steps.Do(apply(ctx, h.peer(), l, step(fresh(), "p1", "p2"), true))
	steps.Do(total(ctx, h.Applier, name, "a", 2))
	again := steps.Get(h.Applier.Lease(ctx, name, "one", long))
	return expect("position", again.Position, "p2")
}

func emptyInterval(ctx context.Context, h ApplierHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	l := steps.Get(h.Applier.Lease(ctx, name, "one", long))
	steps.Do(apply(ctx, h.Applier, l, driver.Batch{ID: fresh(), To: "p1"}, true))
	// The rows cancel each other out.
	steps.Do(apply(ctx, h.Applier, l, driver.Batch{ID: fresh(), From: "p1", To: "p2", Rows: 2}, true))
	again := steps.Get(h.Applier.Lease(ctx, name, "one", long))
	steps.Do(expect("position", again.Position, "p2"))
	n := steps.Get(h.Applier.Prune(ctx, name, 0, 10))
	return expect("batches noted", n, 1)
}

func totals(ctx context.Context, h ApplierHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	l := steps.Get(h.Applier.Lease(ctx, name, "one", long))
	want := map[string]int64{}
	var deltas []driver.Delta
	for i, key := range odd {
		want[key] = int64(1<<53 + 1 + i)
		deltas = append(deltas, driver.Delta{Key: key, N: want[key]})
	}
	steps.Do(apply(ctx, h.Applier, l, one(fresh(), deltas...), true))
	got := steps.Get(h.peer().Totals(ctx, name, append([]string{"never"}, odd...)))
	for key, n := range want {
		if got[key] != n {
			return fmt.Errorf("total of %q: %d, want %d", key, got[key], n)
		}
	}
	if got["never"] != 0 {
		return fmt.Errorf("a key that was never counted has %d", got["never"])
	}
	got, err = h.Applier.Totals(ctx, name, nil)
	if err == nil && len(got) != 0 {
		err = fmt.Errorf("totals of no key: %v", got)
	}
	return err
}

// countersAreApart has two counters that are leased equally often, so that their tokens may be the
// same.
func countersAreApart(ctx context.Context, h ApplierHarness) (err error) {
	defer steps.End(&err)
	name, other := fresh(), fresh()
	lease := func() (l, m driver.Lease, err error) {
		if l, err = h.Applier.Lease(ctx, name, "one", long); err != nil {
			return l, m, err
		}
		m, err = h.Applier.Lease(ctx, other, "one", long)
		return l, m, err
	}
	l, _ := steps.Two(lease())
	steps.Do(apply(ctx, h.Applier, l, driver.Batch{ID: fresh(), To: "p1", Rows: 1, Deltas: []driver.Delta{{Key: "a", N: 1}}}, true))
	l, m := steps.Two(lease())
	steps.Do(expect("position of another counter", m.Position, ""))
	if n, err := h.Applier.Prune(ctx, other, 0, 10); err != nil || n != 0 {
		return fmt.Errorf("%d batches of another counter pruned (%v)", n, err)
	}
	steps.Do(total(ctx, h.Applier, other, "a", 0))
	steps.Do(h.Applier.Release(ctx, l))
	if _, err := h.peer().Lease(ctx, other, "other", long); !errors.Is(err, driver.ErrLeaseHeld) {
		return fmt.Errorf("the release of one counter ended the lease of another: %v, want %v", err, driver.ErrLeaseHeld)
	}
	return nil
}

func prune(ctx context.Context, h ApplierHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	l := steps.Get(h.Applier.Lease(ctx, name, "one", long))
	for range 3 {
		steps.Do(apply(ctx, h.Applier, l, one(fresh(), driver.Delta{Key: "a", N: 1}), true))
	}
	for _, step := range []struct {
		age         time.Duration
		limit, want int
	}{{time.Hour, 10, 0}, {0, 2, 2}, {0, 2, 1}, {0, 2, 0}} {
		n := steps.Get(h.Applier.Prune(ctx, name, step.age, step.limit))
		if n != step.want {
			return fmt.Errorf("pruned %d older than %s, at most %d; want %d", n, step.age, step.limit, step.want)
		}
	}
	return total(ctx, h.Applier, name, "a", 3)
}

// concurrentApplies has several flushers that all use the lease.
func concurrentApplies(ctx context.Context, h ApplierHarness) (err error) {
	defer steps.End(&err)
	const flushers, batches = 4, 20
	name := fresh()
	l := steps.Get(h.Applier.Lease(ctx, name, "one", long))
	ids := make([]string, batches)
	for i := range ids {
		ids[i] = fresh()
	}
	var applied atomic.Int64
	errs := make([]error, flushers)
	var wg sync.WaitGroup
	for f := range flushers {
		a := []driver.Applier{h.Applier, h.peer()}[f%2]
		wg.Go(func() {
			for i := range ids {
				fresh, err := a.Apply(ctx, l, one(ids[(i+f*5)%batches], driver.Delta{Key: "a", N: 1}, driver.Delta{Key: "b", N: 2}))
				if err != nil {
					errs[f] = err
					return
				}
				if fresh {
					applied.Add(1)
				}
			}
		})
	}
	wg.Wait()
	steps.Do(errors.Join(errs...))
	steps.Do(expect("batches applied", applied.Load(), batches))
	steps.Do(total(ctx, h.Applier, name, "a", batches))
	return total(ctx, h.Applier, name, "b", 2*batches)
}

package countertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

func leaseHeld(ctx context.Context, h ApplierHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	first := steps.Get(h.Applier.Lease(ctx, name, "one", long))
	if first.Counter != name || first.Holder != "one" || first.Position != "" {
		return fmt.Errorf("the lease is %+v", first)
	}
	if _, err := h.peer().Lease(ctx, name, "other", long); !errors.Is(err, driver.ErrLeaseHeld) {
		return fmt.Errorf("a second holder got %v, want %v", err, driver.ErrLeaseHeld)
	}
	again := steps.Get(h.Applier.Lease(ctx, name, "one", long))
	if again.Token <= first.Token {
		return fmt.Errorf("token %d follows %d", again.Token, first.Token)
	}
	steps.Do(h.Applier.Release(ctx, again))
	other, err := h.peer().Lease(ctx, name, "other", long)
	if err == nil && other.Token <= again.Token {
		err = fmt.Errorf("token %d follows %d", other.Token, again.Token)
	}
	return err
}

func leaseEnds(ctx context.Context, h ApplierHarness) error {
	name := fresh()
	if _, err := h.Applier.Lease(ctx, name, "one", 10*time.Millisecond); err != nil {
		return err
	}
	for {
		_, err := h.peer().Lease(ctx, name, "other", long)
		if !errors.Is(err, driver.ErrLeaseHeld) {
			return err
		}
		if ctx.Err() != nil {
			return errors.New("a lease of 10 ms does not end")
		}
	}
}

// leaseLost applies batches with the tokens of a holder that lost its lease, and of one that has a
// newer one itself.
func leaseLost(ctx context.Context, h ApplierHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	stale := steps.Get(h.Applier.Lease(ctx, name, "one", 0))
	steps.Do(leaseEndedTo(ctx, h, name))
	steps.Named(lost(ctx, h.Applier, stale), "a lease that ran out")
	again := fresh()
	older := steps.Get(h.Applier.Lease(ctx, again, "one", long))
	steps.Get(h.Applier.Lease(ctx, again, "one", long))
	steps.Named(lost(ctx, h.peer(), older), "an older lease of the same holder")
	return nil
}

// lost checks that no kind of batch is applied under a lease.
func lost(ctx context.Context, a driver.Applier, l driver.Lease) error {
	for _, b := range []driver.Batch{
		one(fresh(), driver.Delta{Key: "a", N: 1}),
		{ID: fresh(), To: "p1", Rows: 1, Deltas: []driver.Delta{{Key: "a", N: 1}}},
		{ID: fresh(), To: "p1"},
	} {
		if _, err := a.Apply(ctx, l, b); !errors.Is(err, driver.ErrLeaseLost) {
			return fmt.Errorf("a batch of %d rows to %q: %v, want %v", b.Rows, b.To, err, driver.ErrLeaseLost)
		}
	}
	return total(ctx, a, l.Counter, "a", 0)
}

// leaseEndedTo waits until another holder gets the counter.
func leaseEndedTo(ctx context.Context, h ApplierHarness, name string) error {
	for {
		_, err := h.peer().Lease(ctx, name, "other", long)
		if !errors.Is(err, driver.ErrLeaseHeld) || ctx.Err() != nil {
			return err
		}
	}
}

func releaseOld(ctx context.Context, h ApplierHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	stale := steps.Get(h.Applier.Lease(ctx, name, "one", 0))
	steps.Do(leaseEndedTo(ctx, h, name))
	steps.Named(h.Applier.Release(ctx, stale), "release of a lost lease")
	if _, err := h.Applier.Lease(ctx, name, "one", long); !errors.Is(err, driver.ErrLeaseHeld) {
		return fmt.Errorf("a lost lease was released, and ended the other's: %v", err)
	}
	return nil
}

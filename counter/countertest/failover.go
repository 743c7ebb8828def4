package countertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

// otherServer applies batches under a lease of another run of the server, as after a failover,
// if the applier knows its server.
func otherServer(ctx context.Context, h ApplierHarness) error {
	name := fresh()
	l, err := h.Applier.Lease(ctx, name, "one", long)
	if err != nil || l.Server == "" {
		return err
	}
	there := l
	there.Server += "0"
	if err := lost(ctx, h.peer(), there); err != nil {
		return fmt.Errorf("another server's lease: %w", err)
	}
	return apply(ctx, h.Applier, l, driver.Batch{ID: fresh(), To: "p1"}, true)
}

// verify has a source that reports that the rows of a batch are gone.
func verify(ctx context.Context, h ApplierHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	l := steps.Get(h.Applier.Lease(ctx, name, "one", long))
	gone := errors.New("the rows have gone")
	b := driver.Batch{ID: fresh(), To: "p1", Rows: 1, Deltas: []driver.Delta{{Key: "a", N: 1}}}
	b.Verify = func(context.Context) error { return gone }
	if _, err := h.Applier.Apply(ctx, l, b); !errors.Is(err, gone) {
		return fmt.Errorf("apply what has gone: %v, want %v", err, gone)
	}
	steps.Do(total(ctx, h.peer(), name, "a", 0))
	again := steps.Get(h.Applier.Lease(ctx, name, "one", long))
	steps.Do(expect("position", again.Position, ""))
	asked := 0
	b.Verify = func(context.Context) error { asked++; return nil }
	steps.Do(apply(ctx, h.Applier, again, b, true))
	if asked == 0 {
		return errors.New("a batch was applied and not verified")
	}
	return total(ctx, h.peer(), name, "a", 1)
}

package idempotencytest

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

func leasePrune(ctx context.Context, h LeaseHarness) (err error) {
	defer steps.End(&err)
	end := map[string]func(c driver.Claim) error{
		"completed": func(c driver.Claim) error { return h.Store.Complete(ctx, c, []byte("kept")) },
		"released":  func(c driver.Claim) error { return h.Store.Release(ctx, c) },
		"crashed":   func(driver.Claim) error { return nil },
	}
	for name, f := range end {
		for _, age := range []string{"old", "young"} {
			r := record("group:" + age + "-" + name)
			c := steps.Get(claim(ctx, h.Store, r, minute, driver.Claimed))
			steps.Named(f(c), "%s", name)
			by := 2 * minute
			if age == "old" {
				by = 2 * time.Hour
			}
			steps.Do(h.Backdate(ctx, r.Key, by))
		}
	}
	running := steps.Get(claim(ctx, h.Store, record("group:running"), minute, driver.Claimed))
	for i, want := range []int{2, 1, 0} {
		steps.Do(count(fmt.Sprintf("Prune %d with a limit of 2", i+1), want)(h.Peer.Prune(ctx, time.Hour, 2)))
	}
	if _, err := claim(ctx, h.Store, record("group:old-completed"), minute, driver.Claimed); err != nil {
		return fmt.Errorf("a pruned key: %w", err)
	}
	if _, err := claim(ctx, h.Store, record("group:young-completed"), minute, driver.Done); err != nil {
		return fmt.Errorf("a key that is younger: %w", err)
	}
	// A running lease is never pruned.
	if _, err := h.Peer.Prune(ctx, -24*time.Hour, 100); err != nil {
		return fmt.Errorf("Prune of everything: %w", err)
	}
	if _, err := claim(ctx, h.Peer, record("group:running"), minute, driver.Taken); err != nil {
		return fmt.Errorf("after Prune of everything: %w", err)
	}
	return must("Complete after Prune", h.Store.Complete(ctx, running, nil))
}

func leasePruneBadLimit(ctx context.Context, h LeaseHarness) error {
	return refusesLimits(ctx, h.Store)
}

package coalescetest

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

func releaseFrees(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	first := steps.Get(ask(ctx, h.Store, key, driver.High, false, driver.Published))
	steps.Do(release(ctx, h.Peer, first, true))
	steps.Named(release(ctx, h.Store, first, false), "a second time")
	second := steps.Get(ask(ctx, h.Store, key, driver.Low, false, driver.Published))
	if second.Version <= first.Version {
		return fmt.Errorf("after a release the version is %d after %d", second.Version, first.Version)
	}
	steps.Named(release(ctx, h.Store, first, false), "while another has the lock")
	return held(ctx, h.Peer, second)
}

// strangers returns tickets that differ slightly from the given one, which has low priority.
func strangers(t driver.Ticket) []driver.Ticket {
	return []driver.Ticket{
		{Key: t.Key, Priority: driver.High, Version: t.Version},
		{Key: t.Key, Priority: t.Priority, Version: t.Version - 1},
		{Key: t.Key, Priority: t.Priority, Version: t.Version + 1},
		{Key: t.Key, Priority: t.Priority, Version: t.Version * 10},
		{Key: t.Key, Priority: t.Priority, Version: t.Version / 10},
		{Key: t.Key + "0", Priority: t.Priority, Version: t.Version},
	}
}

// compares: end changes nothing for a ticket that does not hold the lock.
func compares(ctx context.Context, h Harness, end func(t driver.Ticket) error) error {
	t, err := ask(ctx, h.Store, key, driver.Low, false, driver.Published)
	if err != nil {
		return err
	}
	for _, other := range strangers(t) {
		if err := end(other); err != nil {
			return fmt.Errorf("while %v has the lock: %w", t, err)
		}
		if err := held(ctx, h.Peer, t); err != nil {
			return fmt.Errorf("after a call with %v: %w", other, err)
		}
		if err := newest(ctx, h.Peer, t.Key, t.Version); err != nil {
			return fmt.Errorf("after a call with %v: %w", other, err)
		}
	}
	return nil
}

func releaseCompares(ctx context.Context, h Harness) error {
	return compares(ctx, h, func(t driver.Ticket) error { return release(ctx, h.Peer, t, false) })
}

func doneCompares(ctx context.Context, h Harness) error {
	return compares(ctx, h, func(t driver.Ticket) error { return done(ctx, h.Peer, t, false) })
}

func extendCompares(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	steps.Do(compares(ctx, h, func(t driver.Ticket) error { return extended(ctx, h.Peer, t, false) }))
	// No call with a stranger moved the deadline.
	steps.Do(h.Backdate(ctx, key, ttl.Low-minute))
	d, err := h.Store.Request(ctx, key, driver.Low, false, ttl)
	if err != nil || d.Outcome != driver.AlreadyProcessing {
		return fmt.Errorf("a minute before the deadline: %v, %w", d.Outcome, orNil(err))
	}
	for _, other := range strangers(d.Ticket) {
		steps.Do(extended(ctx, h.Store, other, false))
	}
	steps.Do(h.Backdate(ctx, key, minute))
	return free(ctx, h.Store, key)
}

func doneFrees(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	t := steps.Get(ask(ctx, h.Store, key, driver.Low, false, driver.Published))
	steps.Do(done(ctx, h.Peer, t, true))
	steps.Named(done(ctx, h.Store, t, false), "a second time")
	steps.Named(newest(ctx, h.Store, key, t.Version), "after the end")
	return free(ctx, h.Peer, key)
}

// extend: lock and version last their whole TTL from the extension on; a ticket that lost its
// lock is not extended.
func extend(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	t := steps.Get(ask(ctx, h.Store, key, driver.Low, false, driver.Published))
	// Four times 15 min of 20, past the version's hour too.
	for range 4 {
		steps.Do(h.Backdate(ctx, key, ttl.Low-5*minute))
		steps.Do(extended(ctx, h.Peer, t, true))
		steps.Named(held(ctx, h.Store, t), "after an extension")
		steps.Named(newest(ctx, h.Store, key, t.Version), "after an extension")
	}
	steps.Do(h.Backdate(ctx, key, ttl.Low))
	steps.Named(extended(ctx, h.Store, t, false), "after the deadline")
	return free(ctx, h.Store, key)
}

package coalescetest

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

// freeIsPublished: the first request publishes, with any priority.
func freeIsPublished(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, p := range []driver.Priority{driver.High, driver.Low} {
		t := steps.Get(ask(ctx, h.Store, "free-"+string(p), p, false, driver.Published))
		steps.Do(held(ctx, h.Peer, t))
	}
	return nil
}

// heldIsProcessing: other requests get the holder's ticket, and change nothing.
func heldIsProcessing(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, c := range []struct{ holder, other driver.Priority }{
		{driver.Low, driver.Low}, {driver.High, driver.Low}, {driver.High, driver.High},
	} {
		key := fmt.Sprintf("%s-%s", c.holder, c.other)
		t := steps.Get(ask(ctx, h.Store, key, c.holder, false, driver.Published))
		for _, s := range []driver.Store{h.Peer, h.Store, h.Peer} {
			whose := steps.Get(ask(ctx, s, key, c.other, false, driver.AlreadyProcessing))
			if whose != t {
				return fmt.Errorf("a %s request found %v at it; it is %v", c.other, whose, t)
			}
		}
		steps.Do(newest(ctx, h.Peer, key, t.Version))
		steps.Do(release(ctx, h.Store, t, true))
	}
	return nil
}

// highUpgradesLow: an upgrade happens once, and the low ticket is invalid after it.
func highUpgradesLow(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	low := steps.Get(ask(ctx, h.Store, key, driver.Low, false, driver.Published))
	high := steps.Get(ask(ctx, h.Peer, key, driver.High, false, driver.Upgraded))
	if high.Version <= low.Version {
		return fmt.Errorf("the upgrade has the version %d after %d", high.Version, low.Version)
	}
	if _, err := ask(ctx, h.Store, key, driver.High, false, driver.AlreadyProcessing); err != nil {
		return fmt.Errorf("after the upgrade: %w", err)
	}
	steps.Do(newest(ctx, h.Store, key, high.Version))
	steps.Do(release(ctx, h.Store, low, false))
	steps.Do(done(ctx, h.Store, low, false))
	return held(ctx, h.Store, high)
}

// lockExpires: a lock expires by its own TTL, and is then free for any request.
func lockExpires(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, p := range []driver.Priority{driver.High, driver.Low} {
		key := "expires-" + string(p)
		first := steps.Get(ask(ctx, h.Store, key, p, false, driver.Published))
		steps.Do(h.Backdate(ctx, key, ttl.Of(p)-5*minute))
		steps.Named(held(ctx, h.Peer, first), "5 min before the %s lock's deadline", p)
		steps.Do(h.Backdate(ctx, key, 5*minute))
		second, err := ask(ctx, h.Peer, key, driver.Low, false, driver.Published)
		steps.Named(err, "after the %s lock's deadline", p)
		if second.Version <= first.Version {
			return fmt.Errorf("after the %s lock's deadline the version is %d after %d", p, second.Version, first.Version)
		}
		steps.Named(release(ctx, h.Store, first, false), "by the first, which is late")
		steps.Named(extended(ctx, h.Store, first, false), "by the first, which is late")
		steps.Do(held(ctx, h.Peer, second))
	}
	return nil
}

// upgradeHasItsOwnTTL: after the upgrade the lock is a high one.
func upgradeHasItsOwnTTL(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	steps.Get(ask(ctx, h.Store, key, driver.Low, false, driver.Published))
	steps.Do(h.Backdate(ctx, key, ttl.Low-5*minute))
	high := steps.Get(ask(ctx, h.Store, key, driver.High, false, driver.Upgraded))
	// Past the rest of the low lock, and then past the TTL of the high one.
	steps.Do(h.Backdate(ctx, key, ttl.High-4*minute))
	steps.Named(held(ctx, h.Peer, high), "4 min before the upgraded lock's deadline")
	steps.Do(h.Backdate(ctx, key, 4*minute))
	return free(ctx, h.Peer, key)
}

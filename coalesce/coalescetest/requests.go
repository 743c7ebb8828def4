package coalescetest

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/coalesce/driver"
)

// freeIsPublished: the first request publishes, with any priority.
func freeIsPublished(ctx context.Context, h Harness) error {
	for _, p := range []driver.Priority{driver.High, driver.Low} {
		t, err := ask(ctx, h.Store, "free-"+string(p), p, false, driver.Published)
		if err != nil {
			return err
		}
		if err := held(ctx, h.Peer, t); err != nil {
			return err
		}
	}
	return nil
}

// heldIsProcessing: other requests get the holder's ticket, and change nothing.
func heldIsProcessing(ctx context.Context, h Harness) error {
	for _, c := range []struct{ holder, other driver.Priority }{
		{driver.Low, driver.Low}, {driver.High, driver.Low}, {driver.High, driver.High},
	} {
		key := fmt.Sprintf("%s-%s", c.holder, c.other)
		t, err := ask(ctx, h.Store, key, c.holder, false, driver.Published)
		if err != nil {
			return err
		}
		for _, s := range []driver.Store{h.Peer, h.Store, h.Peer} {
			whose, err := ask(ctx, s, key, c.other, false, driver.AlreadyProcessing)
			if err != nil {
				return err
			}
			if whose != t {
				return fmt.Errorf("a %s request found %v at it; it is %v", c.other, whose, t)
			}
		}
		if err := newest(ctx, h.Peer, key, t.Version); err != nil {
			return err
		}
		if err := release(ctx, h.Store, t, true); err != nil {
			return err
		}
	}
	return nil
}

// highUpgradesLow: an upgrade happens once, and the low ticket is invalid after it.
func highUpgradesLow(ctx context.Context, h Harness) error {
	low, err := ask(ctx, h.Store, key, driver.Low, false, driver.Published)
	if err != nil {
		return err
	}
	high, err := ask(ctx, h.Peer, key, driver.High, false, driver.Upgraded)
	if err != nil {
		return err
	}
	if high.Version <= low.Version {
		return fmt.Errorf("the upgrade has the version %d after %d", high.Version, low.Version)
	}
	if _, err := ask(ctx, h.Store, key, driver.High, false, driver.AlreadyProcessing); err != nil {
		return fmt.Errorf("after the upgrade: %w", err)
	}
	if err := newest(ctx, h.Store, key, high.Version); err != nil {
		return err
	}
	if err := release(ctx, h.Store, low, false); err != nil {
		return err
	}
	if err := done(ctx, h.Store, low, false); err != nil {
		return err
	}
	return held(ctx, h.Store, high)
}

// lockExpires: a lock expires by its own TTL, and is then free for any request.
func lockExpires(ctx context.Context, h Harness) error {
	for _, p := range []driver.Priority{driver.High, driver.Low} {
		key := "expires-" + string(p)
		first, err := ask(ctx, h.Store, key, p, false, driver.Published)
		if err != nil {
			return err
		}
		if err := h.Backdate(ctx, key, ttl.Of(p)-5*minute); err != nil {
			return err
		}
		if err := held(ctx, h.Peer, first); err != nil {
			return fmt.Errorf("5 min before the %s lock's deadline: %w", p, err)
		}
		if err := h.Backdate(ctx, key, 5*minute); err != nil {
			return err
		}
		second, err := ask(ctx, h.Peer, key, driver.Low, false, driver.Published)
		if err != nil {
			return fmt.Errorf("after the %s lock's deadline: %w", p, err)
		}
		if second.Version <= first.Version {
			return fmt.Errorf("after the %s lock's deadline the version is %d after %d", p, second.Version, first.Version)
		}
		if err := release(ctx, h.Store, first, false); err != nil {
			return fmt.Errorf("by the first, which is late: %w", err)
		}
		if err := extended(ctx, h.Store, first, false); err != nil {
			return fmt.Errorf("by the first, which is late: %w", err)
		}
		if err := held(ctx, h.Peer, second); err != nil {
			return err
		}
	}
	return nil
}

// upgradeHasItsOwnTTL: after the upgrade the lock is a high one.
func upgradeHasItsOwnTTL(ctx context.Context, h Harness) error {
	if _, err := ask(ctx, h.Store, key, driver.Low, false, driver.Published); err != nil {
		return err
	}
	if err := h.Backdate(ctx, key, ttl.Low-5*minute); err != nil {
		return err
	}
	high, err := ask(ctx, h.Store, key, driver.High, false, driver.Upgraded)
	if err != nil {
		return err
	}
	// Past the rest of the low lock, and then past the TTL of the high one.
	if err := h.Backdate(ctx, key, ttl.High-4*minute); err != nil {
		return err
	}
	if err := held(ctx, h.Peer, high); err != nil {
		return fmt.Errorf("4 min before the upgraded lock's deadline: %w", err)
	}
	if err := h.Backdate(ctx, key, 4*minute); err != nil {
		return err
	}
	return free(ctx, h.Peer, key)
}

package coalescetest

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/coalesce/driver"
)

// versionsGrow: versions grow over every way in which a run can end, from every instance.
func versionsGrow(ctx context.Context, h Harness) error {
	last := int64(0)
	for i := range 40 {
		s := h.Store
		if i%2 == 1 {
			s = h.Peer
		}
		t, err := ask(ctx, s, key, driver.Low, false, driver.Published)
		if err != nil {
			return err
		}
		versions := []int64{t.Version}
		if i%4 == 0 {
			if t, err = ask(ctx, h.Peer, key, driver.High, false, driver.Upgraded); err != nil {
				return err
			}
			versions = append(versions, t.Version)
		}
		if i%4 == 1 {
			if _, err := ask(ctx, s, key, driver.Low, true, driver.AlreadyProcessing); err != nil {
				return err
			}
			if t, err = rerun(ctx, h.Store, t, driver.Low); err != nil {
				return err
			}
			versions = append(versions, t.Version)
		}
		for _, v := range versions {
			if v <= last {
				return fmt.Errorf("round %d: the version is %d after %d", i, v, last)
			}
			last = v
		}
		switch i % 5 {
		case 0, 1:
			err = release(ctx, s, t, true)
		case 2:
			err = done(ctx, s, t, true)
		case 3:
			err = h.Backdate(ctx, key, ttl.Low)
		case 4:
			err = h.Backdate(ctx, key, ttl.Version)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// current: the newest version, also after its run has ended.
func current(ctx context.Context, h Harness) error {
	if err := newest(ctx, h.Store, key, 0); err != nil {
		return fmt.Errorf("before the first request: %w", err)
	}
	low, err := ask(ctx, h.Store, key, driver.Low, false, driver.Published)
	if err != nil {
		return err
	}
	if err := newest(ctx, h.Peer, key, low.Version); err != nil {
		return err
	}
	high, err := ask(ctx, h.Store, key, driver.High, false, driver.Upgraded)
	if err != nil {
		return err
	}
	if err := newest(ctx, h.Peer, key, high.Version); err != nil {
		return fmt.Errorf("after an upgrade: %w", err)
	}
	if err := release(ctx, h.Store, high, true); err != nil {
		return err
	}
	if err := newest(ctx, h.Peer, key, high.Version); err != nil {
		return fmt.Errorf("after a release: %w", err)
	}
	return newest(ctx, h.Store, "another", 0)
}

// versionExpires: a version expires after its TTL, which each new version restarts.
func versionExpires(ctx context.Context, h Harness) error {
	if err := free(ctx, h.Store, key); err != nil {
		return err
	}
	if err := h.Backdate(ctx, key, ttl.Version-5*minute); err != nil {
		return err
	}
	t, err := ask(ctx, h.Store, key, driver.Low, false, driver.Published)
	if err != nil {
		return err
	}
	if err := h.Backdate(ctx, key, ttl.Version-5*minute); err != nil {
		return err
	}
	if err := newest(ctx, h.Peer, key, t.Version); err != nil {
		return fmt.Errorf("5 min before its deadline: %w", err)
	}
	if err := h.Backdate(ctx, key, 5*minute); err != nil {
		return err
	}
	if err := newest(ctx, h.Peer, key, 0); err != nil {
		return fmt.Errorf("after its deadline: %w", err)
	}
	next, err := ask(ctx, h.Peer, key, driver.Low, false, driver.Published)
	if err != nil {
		return err
	}
	if next.Version <= t.Version {
		return fmt.Errorf("after the counter's deadline the version is %d after %d", next.Version, t.Version)
	}
	return nil
}

// lostState: after a loss the key is free, its current version is unknown, an earlier ticket
// holds no lock, and new versions are higher.
func lostState(ctx context.Context, h Harness) error {
	last := driver.Ticket{}
	for i := range 10 {
		t, err := ask(ctx, h.Store, key, driver.High, false, driver.Published)
		if err != nil {
			return fmt.Errorf("after loss %d: %w", i, err)
		}
		if t.Version <= last.Version {
			return fmt.Errorf("after loss %d the version is %d after %d", i, t.Version, last.Version)
		}
		if last.Version > 0 {
			if err := release(ctx, h.Peer, last, false); err != nil {
				return fmt.Errorf("a ticket from before loss %d: %w", i, err)
			}
			if err := held(ctx, h.Peer, t); err != nil {
				return fmt.Errorf("after loss %d: %w", i, err)
			}
		}
		if err := h.Lose(ctx, key); err != nil {
			return err
		}
		if err := newest(ctx, h.Peer, key, 0); err != nil {
			return fmt.Errorf("after loss %d: %w", i+1, err)
		}
		if err := extended(ctx, h.Store, t, false); err != nil {
			return fmt.Errorf("after loss %d: %w", i+1, err)
		}
		last = t
	}
	return nil
}

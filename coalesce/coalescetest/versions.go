package coalescetest

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

// versionsGrow: versions grow over every way in which a run can end, from every instance.
func versionsGrow(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	last := int64(0)
	for i := range 40 {
		s := h.Store
		if i%2 == 1 {
			s = h.Peer
		}
		t := steps.Get(ask(ctx, s, key, driver.Low, false, driver.Published))
		versions := []int64{t.Version}
		if i%4 == 0 {
			t = steps.Get(ask(ctx, h.Peer, key, driver.High, false, driver.Upgraded))
			versions = append(versions, t.Version)
		}
		if i%4 == 1 {
			steps.Get(ask(ctx, s, key, driver.Low, true, driver.AlreadyProcessing))
			t = steps.Get(rerun(ctx, h.Store, t, driver.Low))
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
func current(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	steps.Named(newest(ctx, h.Store, key, 0), "before the first request")
	low := steps.Get(ask(ctx, h.Store, key, driver.Low, false, driver.Published))
	steps.Do(newest(ctx, h.Peer, key, low.Version))
	high := steps.Get(ask(ctx, h.Store, key, driver.High, false, driver.Upgraded))
	steps.Named(newest(ctx, h.Peer, key, high.Version), "after an upgrade")
	steps.Do(release(ctx, h.Store, high, true))
	steps.Named(newest(ctx, h.Peer, key, high.Version), "after a release")
	return newest(ctx, h.Store, "another", 0)
}

// versionExpires: a version expires after its TTL, which each new version restarts.
func versionExpires(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	steps.Do(free(ctx, h.Store, key))
	steps.Do(h.Backdate(ctx, key, ttl.Version-5*minute))
	t := steps.Get(ask(ctx, h.Store, key, driver.Low, false, driver.Published))
	steps.Do(h.Backdate(ctx, key, ttl.Version-5*minute))
	steps.Named(newest(ctx, h.Peer, key, t.Version), "5 min before its deadline")
	steps.Do(h.Backdate(ctx, key, 5*minute))
	steps.Named(newest(ctx, h.Peer, key, 0), "after its deadline")
	next := steps.Get(ask(ctx, h.Peer, key, driver.Low, false, driver.Published))
	if next.Version <= t.Version {
		return fmt.Errorf("after the counter's deadline the version is %d after %d", next.Version, t.Version)
	}
	return nil
}

// lostState: after a loss the key is free, its current version is unknown, an earlier ticket
// holds no lock, and new versions are higher.
func lostState(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	last := driver.Ticket{}
	for i := range 10 {
		t, err := ask(ctx, h.Store, key, driver.High, false, driver.Published)
		steps.Named(err, "after loss %d", i)
		if t.Version <= last.Version {
			return fmt.Errorf("after loss %d the version is %d after %d", i, t.Version, last.Version)
		}
		if last.Version > 0 {
			steps.Named(release(ctx, h.Peer, last, false), "a ticket from before loss %d", i)
			steps.Named(held(ctx, h.Peer, t), "after loss %d", i)
		}
		steps.Do(h.Lose(ctx, key))
		steps.Named(newest(ctx, h.Peer, key, 0), "after loss %d", i+1)
		steps.Named(extended(ctx, h.Store, t, false), "after loss %d", i+1)
		last = t
	}
	return nil
}

package coalescetest

import (
	"context"

	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

// againOnce: however many requests ask, there is one more run, and it holds the lock.
func againOnce(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	t := steps.Get(ask(ctx, h.Store, key, driver.Low, false, driver.Published))
	for range 5 {
		for _, s := range []driver.Store{h.Store, h.Peer} {
			steps.Get(ask(ctx, s, key, driver.Low, true, driver.AlreadyProcessing))
		}
	}
	// A request without Again does not remove the mark.
	steps.Do(held(ctx, h.Store, t))
	next := steps.Get(rerun(ctx, h.Peer, t, driver.Low))
	steps.Named(held(ctx, h.Store, next), "during the other run")
	steps.Named(newest(ctx, h.Store, key, next.Version), "during the other run")
	steps.Named(done(ctx, h.Store, t, false), "the first run once more")
	steps.Named(done(ctx, h.Store, next, true), "the other run")
	return free(ctx, h.Peer, key)
}

// againIsAskedOfTheHolder: a request that gets the lock leaves no mark on it.
func againIsAskedOfTheHolder(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	t := steps.Get(ask(ctx, h.Store, "published", driver.Low, true, driver.Published))
	steps.Do(done(ctx, h.Store, t, true))
	steps.Get(ask(ctx, h.Store, "upgraded", driver.Low, false, driver.Published))
	t = steps.Get(ask(ctx, h.Store, "upgraded", driver.High, true, driver.Upgraded))
	return done(ctx, h.Store, t, true)
}

// againPriority: the next run has the highest priority of the requests that asked for it, and
// the TTL of that priority.
func againPriority(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, asked := range [][]driver.Priority{
		{driver.Low, driver.Low}, {driver.Low, driver.High}, {driver.High, driver.Low},
	} {
		t := steps.Get(ask(ctx, h.Store, key, driver.High, false, driver.Published))
		want := driver.Low
		for _, p := range asked {
			steps.Get(ask(ctx, h.Peer, key, p, true, driver.AlreadyProcessing))
			if p == driver.High {
				want = p
			}
		}
		next, err := rerun(ctx, h.Store, t, want)
		steps.Named(err, "after requests of %v", asked)
		steps.Do(h.Backdate(ctx, key, ttl.Of(want)-5*minute))
		steps.Named(held(ctx, h.Peer, next), "5 min before the other run's deadline")
		steps.Do(h.Backdate(ctx, key, 5*minute))
		steps.Named(free(ctx, h.Store, key), "after the deadline of a %s run", want)
	}
	return nil
}

func againMovesWithAnUpgrade(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	low := steps.Get(ask(ctx, h.Store, key, driver.Low, false, driver.Published))
	steps.Get(ask(ctx, h.Peer, key, driver.Low, true, driver.AlreadyProcessing))
	high := steps.Get(ask(ctx, h.Store, key, driver.High, false, driver.Upgraded))
	steps.Named(done(ctx, h.Store, low, false), "the run that was upgraded")
	next, err := rerun(ctx, h.Peer, high, driver.Low)
	steps.Named(err, "the upgrade")
	return done(ctx, h.Peer, next, true)
}

// againEndsWithTheLock: a release and an expiry remove the mark.
func againEndsWithTheLock(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, ending := range []struct {
		name string
		end  func(t driver.Ticket) error
	}{
		{"release", func(t driver.Ticket) error { return release(ctx, h.Store, t, true) }},
		{"expiry", func(driver.Ticket) error { return h.Backdate(ctx, key, ttl.Low) }},
		{"loss", func(driver.Ticket) error { return h.Lose(ctx, key) }},
	} {
		t := steps.Get(ask(ctx, h.Store, key, driver.Low, false, driver.Published))
		steps.Get(ask(ctx, h.Peer, key, driver.Low, true, driver.AlreadyProcessing))
		steps.Do(ending.end(t))
		next, err := ask(ctx, h.Peer, key, driver.Low, false, driver.Published)
		steps.Named(err, "after a %s", ending.name)
		steps.Named(done(ctx, h.Store, next, true), "the run after a %s", ending.name)
	}
	return nil
}

// againLivesWithTheLock: a mark that is left early or late counts until the lock's deadline, an
// extended one too.
func againLivesWithTheLock(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, late := range []bool{false, true} {
		t := steps.Get(ask(ctx, h.Store, key, driver.Low, false, driver.Published))
		if !late {
			steps.Get(ask(ctx, h.Peer, key, driver.Low, true, driver.AlreadyProcessing))
		}
		steps.Do(h.Backdate(ctx, key, ttl.Low-5*minute))
		if late {
			steps.Get(ask(ctx, h.Peer, key, driver.Low, true, driver.AlreadyProcessing))
		}
		steps.Do(extended(ctx, h.Store, t, true))
		steps.Do(h.Backdate(ctx, key, ttl.Low-5*minute))
		next, err := rerun(ctx, h.Peer, t, driver.Low)
		steps.Named(err, "a mark left late: %v", late)
		steps.Do(release(ctx, h.Store, next, true))
	}
	return nil
}

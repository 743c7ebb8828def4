package coalescetest

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/coalesce/driver"
)

// againOnce: however many requests ask, there is one more run, and it holds the lock.
func againOnce(ctx context.Context, h Harness) error {
	t, err := ask(ctx, h.Store, key, driver.Low, false, driver.Published)
	if err != nil {
		return err
	}
	for range 5 {
		for _, s := range []driver.Store{h.Store, h.Peer} {
			if _, err := ask(ctx, s, key, driver.Low, true, driver.AlreadyProcessing); err != nil {
				return err
			}
		}
	}
	// A request without Again does not remove the mark.
	if err := held(ctx, h.Store, t); err != nil {
		return err
	}
	next, err := rerun(ctx, h.Peer, t, driver.Low)
	if err != nil {
		return err
	}
	if err := held(ctx, h.Store, next); err != nil {
		return fmt.Errorf("during the other run: %w", err)
	}
	if err := newest(ctx, h.Store, key, next.Version); err != nil {
		return fmt.Errorf("during the other run: %w", err)
	}
	if err := done(ctx, h.Store, t, false); err != nil {
		return fmt.Errorf("the first run once more: %w", err)
	}
	if err := done(ctx, h.Store, next, true); err != nil {
		return fmt.Errorf("the other run: %w", err)
	}
	return free(ctx, h.Peer, key)
}

// againIsAskedOfTheHolder: a request that gets the lock leaves no mark on it.
func againIsAskedOfTheHolder(ctx context.Context, h Harness) error {
	t, err := ask(ctx, h.Store, "published", driver.Low, true, driver.Published)
	if err != nil {
		return err
	}
	if err := done(ctx, h.Store, t, true); err != nil {
		return err
	}
	if _, err := ask(ctx, h.Store, "upgraded", driver.Low, false, driver.Published); err != nil {
		return err
	}
	if t, err = ask(ctx, h.Store, "upgraded", driver.High, true, driver.Upgraded); err != nil {
		return err
	}
	return done(ctx, h.Store, t, true)
}

// againPriority: the next run has the highest priority of the requests that asked for it, and
// the TTL of that priority.
func againPriority(ctx context.Context, h Harness) error {
	for _, asked := range [][]driver.Priority{
		{driver.Low, driver.Low}, {driver.Low, driver.High}, {driver.High, driver.Low},
	} {
		t, err := ask(ctx, h.Store, key, driver.High, false, driver.Published)
		if err != nil {
			return err
		}
		want := driver.Low
		for _, p := range asked {
			if _, err := ask(ctx, h.Peer, key, p, true, driver.AlreadyProcessing); err != nil {
				return err
			}
			if p == driver.High {
				want = p
			}
		}
		next, err := rerun(ctx, h.Store, t, want)
		if err != nil {
			return fmt.Errorf("after requests of %v: %w", asked, err)
		}
		if err := h.Backdate(ctx, key, ttl.Of(want)-5*minute); err != nil {
			return err
		}
		if err := held(ctx, h.Peer, next); err != nil {
			return fmt.Errorf("5 min before the other run's deadline: %w", err)
		}
		if err := h.Backdate(ctx, key, 5*minute); err != nil {
			return err
		}
		if err := free(ctx, h.Store, key); err != nil {
			return fmt.Errorf("after the deadline of a %s run: %w", want, err)
		}
	}
	return nil
}

func againMovesWithAnUpgrade(ctx context.Context, h Harness) error {
	low, err := ask(ctx, h.Store, key, driver.Low, false, driver.Published)
	if err != nil {
		return err
	}
	if _, err := ask(ctx, h.Peer, key, driver.Low, true, driver.AlreadyProcessing); err != nil {
		return err
	}
	high, err := ask(ctx, h.Store, key, driver.High, false, driver.Upgraded)
	if err != nil {
		return err
	}
	if err := done(ctx, h.Store, low, false); err != nil {
		return fmt.Errorf("the run that was upgraded: %w", err)
	}
	next, err := rerun(ctx, h.Peer, high, driver.Low)
	if err != nil {
		return fmt.Errorf("the upgrade: %w", err)
	}
	return done(ctx, h.Peer, next, true)
}

// againEndsWithTheLock: a release and an expiry remove the mark.
func againEndsWithTheLock(ctx context.Context, h Harness) error {
	for _, ending := range []struct {
		name string
		end  func(t driver.Ticket) error
	}{
		{"release", func(t driver.Ticket) error { return release(ctx, h.Store, t, true) }},
		{"expiry", func(driver.Ticket) error { return h.Backdate(ctx, key, ttl.Low) }},
		{"loss", func(driver.Ticket) error { return h.Lose(ctx, key) }},
	} {
		t, err := ask(ctx, h.Store, key, driver.Low, false, driver.Published)
		if err != nil {
			return err
		}
		if _, err := ask(ctx, h.Peer, key, driver.Low, true, driver.AlreadyProcessing); err != nil {
			return err
		}
		if err := ending.end(t); err != nil {
			return err
		}
		next, err := ask(ctx, h.Peer, key, driver.Low, false, driver.Published)
		if err != nil {
			return fmt.Errorf("after a %s: %w", ending.name, err)
		}
		if err := done(ctx, h.Store, next, true); err != nil {
			return fmt.Errorf("the run after a %s: %w", ending.name, err)
		}
	}
	return nil
}

// againLivesWithTheLock: a mark that is left early or late counts until the lock's deadline, an
// extended one too.
func againLivesWithTheLock(ctx context.Context, h Harness) error {
	for _, late := range []bool{false, true} {
		t, err := ask(ctx, h.Store, key, driver.Low, false, driver.Published)
		if err != nil {
			return err
		}
		if !late {
			if _, err := ask(ctx, h.Peer, key, driver.Low, true, driver.AlreadyProcessing); err != nil {
				return err
			}
		}
		if err := h.Backdate(ctx, key, ttl.Low-5*minute); err != nil {
			return err
		}
		if late {
			if _, err := ask(ctx, h.Peer, key, driver.Low, true, driver.AlreadyProcessing); err != nil {
				return err
			}
		}
		if err := extended(ctx, h.Store, t, true); err != nil {
			return err
		}
		if err := h.Backdate(ctx, key, ttl.Low-5*minute); err != nil {
			return err
		}
		next, err := rerun(ctx, h.Peer, t, driver.Low)
		if err != nil {
			return fmt.Errorf("a mark left late: %v: %w", late, err)
		}
		if err := release(ctx, h.Store, next, true); err != nil {
			return err
		}
	}
	return nil
}

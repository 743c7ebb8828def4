package coalescetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/conformance"
)

// Harness is one empty store with the parts that the suite needs.
type Harness struct {
	// Store under test; required.
	Store driver.Store
	// Peer is the same store, opened by another process; Store when nil.
	Peer driver.Store
	// Backdate makes the TTLs of a key's data end earlier, as if the given time had passed;
	// required.
	Backdate func(ctx context.Context, key string, by time.Duration) error
	// Lose makes the store lose a key, like a flush or a failover; required.
	Lose func(ctx context.Context, key string) error
}

type testCase = conformance.Case[Harness]

// Run runs every case as a subtest, each on its own harness.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	Suite().Run(t, open)
}

// Suite returns the cases and how they run.
func Suite() conformance.Suite[Harness] {
	return conformance.Suite[Harness]{
		Cases: []testCase{
			{Name: "free-is-published", Run: freeIsPublished},
			{Name: "held-is-processing", Run: heldIsProcessing},
			{Name: "high-upgrades-low", Run: highUpgradesLow},
			{Name: "lock-expires", Run: lockExpires},
			{Name: "upgrade-has-its-own-ttl", Run: upgradeHasItsOwnTTL},
			{Name: "release-frees", Run: releaseFrees},
			{Name: "release-compares", Run: releaseCompares},
			{Name: "done-frees", Run: doneFrees},
			{Name: "done-compares", Run: doneCompares},
			{Name: "extend", Run: extend},
			{Name: "extend-compares", Run: extendCompares},
			{Name: "again-once", Run: againOnce},
			{Name: "again-is-asked-of-the-holder", Run: againIsAskedOfTheHolder},
			{Name: "again-priority", Run: againPriority},
			{Name: "again-moves-with-an-upgrade", Run: againMovesWithAnUpgrade},
			{Name: "again-ends-with-the-lock", Run: againEndsWithTheLock},
			{Name: "again-lives-with-the-lock", Run: againLivesWithTheLock},
			{Name: "versions-grow", Run: versionsGrow},
			{Name: "current", Run: current},
			{Name: "version-expires", Run: versionExpires},
			{Name: "lost-state", Run: lostState},
			{Name: "keys", Run: keys},
			{Name: "arguments", Run: arguments},
			{Name: "cancelled-context", Run: cancelledContext},
			{Name: "concurrent-requests", Run: concurrentRequests},
			{Name: "concurrent-upgrades", Run: concurrentUpgrades},
			{Name: "concurrent-release", Run: concurrentRelease},
			{Name: "concurrent-done", Run: concurrentDone},
		},
		Complete: func(_ context.Context, h Harness) (Harness, error) {
			if h.Peer == nil {
				h.Peer = h.Store
			}
			return h, nil
		},
	}
}

const (
	minute = time.Minute
	key    = "artist-7"
)

// ttl is long enough for no test to outlive it, and each differs from the others.
var ttl = driver.TTLs{High: 10 * minute, Low: 20 * minute, Version: 60 * minute}

// ask requests a refresh and checks the outcome.
func ask(ctx context.Context, s driver.Store, key string, p driver.Priority, again bool, want driver.Outcome) (driver.Ticket, error) {
	d, err := s.Request(ctx, key, p, again, ttl)
	switch {
	case err != nil:
		return d.Ticket, fmt.Errorf("%s request of %.40q: %w", p, key, err)
	case d.Outcome != want:
		return d.Ticket, fmt.Errorf("%s request of %.40q: %v with %v; want %v", p, key, d.Outcome, d.Ticket, want)
	case d.Ticket.Key != key || d.Ticket.Version < 1:
		return d.Ticket, fmt.Errorf("%s request of %.40q: the ticket is %v", p, key, d.Ticket)
	case d.Mine() && d.Ticket.Priority != p:
		return d.Ticket, fmt.Errorf("%s request of %.40q: the lock has the priority %s", p, key, d.Ticket.Priority)
	}
	return d.Ticket, nil
}

// held checks that a ticket has the lock.
func held(ctx context.Context, s driver.Store, t driver.Ticket) error {
	d, err := s.Request(ctx, t.Key, driver.Low, false, ttl)
	if err != nil || d.Outcome != driver.AlreadyProcessing || d.Ticket != t {
		return fmt.Errorf("a low request found %v with %v, %w; want AlreadyProcessing with %v", d.Outcome, d.Ticket, orNil(err), t)
	}
	return nil
}

// free checks that the lock is free: it takes the lock, and releases it.
func free(ctx context.Context, s driver.Store, key string) error {
	t, err := ask(ctx, s, key, driver.Low, false, driver.Published)
	if err != nil {
		return err
	}
	return release(ctx, s, t, true)
}

func release(ctx context.Context, s driver.Store, t driver.Ticket, want bool) error {
	if released, err := s.Release(ctx, t); err != nil || released != want {
		return fmt.Errorf("release of %v: %v, %w; want %v", t, released, orNil(err), want)
	}
	return nil
}

// done ends a run that has no next run.
func done(ctx context.Context, s driver.Store, t driver.Ticket, released bool) error {
	end, err := s.Done(ctx, t, ttl)
	if err != nil || end.Released != released || end.Again {
		return fmt.Errorf("end of %v: %+v, %w; want released %v and no other run", t, end, orNil(err), released)
	}
	return nil
}

// rerun ends a run that has a next run.
func rerun(ctx context.Context, s driver.Store, t driver.Ticket, p driver.Priority) (driver.Ticket, error) {
	end, err := s.Done(ctx, t, ttl)
	switch {
	case err != nil || !end.Released || !end.Again:
		return end.Next, fmt.Errorf("end of %v: %+v, %w; want one more run", t, end, orNil(err))
	case end.Next.Key != t.Key || end.Next.Priority != p || end.Next.Version <= t.Version:
		return end.Next, fmt.Errorf("end of %v: one more run is %v; want %s and a newer version", t, end.Next, p)
	}
	return end.Next, nil
}

func extended(ctx context.Context, s driver.Store, t driver.Ticket, want bool) error {
	if ok, err := s.Extend(ctx, t, ttl); err != nil || ok != want {
		return fmt.Errorf("extension of %v: %v, %w; want %v", t, ok, orNil(err), want)
	}
	return nil
}

// newest checks the current version; 0 is an unknown one.
func newest(ctx context.Context, s driver.Store, key string, want int64) error {
	version, known, err := s.Current(ctx, key)
	if err != nil || known != (want != 0) || known && version != want {
		return fmt.Errorf("the current version of %.40q is %d, known %v, %w; want %d", key, version, known, orNil(err), want)
	}
	return nil
}

// orNil makes a nil error printable.
func orNil(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

type none struct{}

func (none) Error() string { return "no error" }

var errNone = none{}

package idempotencytest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/millrace-go/millrace/idempotency/driver"
)

// LeaseHarness is one empty lease store with the parts that the suite needs.
type LeaseHarness struct {
	// Store under test; required.
	Store driver.LeaseStore
	// Peer is the same store, opened by another process; Store when nil.
	Peer driver.LeaseStore
	// Backdate moves a key's deadline, or the time at which it ended, into the
	// past by the given time; required.
	Backdate func(ctx context.Context, key string, by time.Duration) error
	// DB is the database that the store is on; nil for a store without
	// transactions.
	DB *sql.DB
	// Expires says that keys expire by themselves and Prune does nothing.
	Expires bool
}

// LeaseCase is one guarantee of a lease store.
type LeaseCase struct {
	Name string
	// Needs lists the requirements of the case; without them it is n/a.
	Needs []Need
	// Run checks the guarantee on a new harness and returns an error if it is broken.
	Run func(ctx context.Context, h LeaseHarness) error
}

// Missing returns the first need that the harness does not meet, or "".
func (c LeaseCase) Missing(h LeaseHarness) Need {
	for _, n := range c.Needs {
		if n == NeedDB && h.DB == nil || n == NeedPrune && h.Expires {
			return n
		}
	}
	return ""
}

// CheckLeases runs one case on a new harness.
func CheckLeases(ctx context.Context, c LeaseCase, h LeaseHarness) error {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	if h.Peer == nil {
		h.Peer = h.Store
	}
	return c.Run(ctx, h)
}

// RunLeases runs every case as a subtest, each on its own harness.
func RunLeases(t *testing.T, open func(t *testing.T) LeaseHarness) {
	t.Helper()
	for _, c := range LeaseCases() {
		t.Run(c.Name, func(t *testing.T) {
			h := open(t)
			if missing := c.Missing(h); missing != "" {
				t.Logf("n/a: %s", missing)
				return
			}
			if err := CheckLeases(t.Context(), c, h); err != nil {
				t.Error(err)
			}
		})
	}
}

// LeaseCases returns the suite for lease stores.
func LeaseCases() []LeaseCase {
	prune, db := []Need{NeedPrune}, []Need{NeedDB}
	return []LeaseCase{
		{Name: "claim-complete", Run: claimComplete},
		{Name: "release-frees", Run: releaseFrees},
		{Name: "takeover-after-deadline", Run: takeoverAfterDeadline},
		{Name: "deadline-by-the-clock", Run: deadlineByTheClock},
		{Name: "extend", Run: extend},
		{Name: "late-is-not-lost", Run: lateIsNotLost},
		{Name: "ends-once", Run: endsOnce},
		{Name: "repeated-end", Run: repeatedEnd},
		{Name: "other-request", Run: otherRequest},
		{Name: "tokens-grow", Run: tokensGrow},
		{Name: "results", Run: results},
		{Name: "lease-keys", Run: leaseKeys},
		{Name: "lease-arguments", Run: leaseArguments},
		{Name: "one-winner", Run: oneWinner},
		{Name: "http-herd", Run: httpHerd},
		{Name: "lease-cancelled-context", Run: leaseCancelled},
		{Name: "lease-prune", Needs: prune, Run: leasePrune},
		{Name: "lease-prune-bad-limit", Run: leasePruneBadLimit},
		{Name: "lease-transactions", Needs: db, Run: leaseTransactions},
	}
}

const minute = time.Minute

// claim claims the key of a record and checks the answer.
func claim(ctx context.Context, s driver.LeaseStore, r driver.Record, ttl time.Duration, want driver.ClaimState) (driver.Claim, error) {
	c, err := s.Claim(ctx, r, ttl)
	switch {
	case err != nil || c.State != want:
		return c, fmt.Errorf("claim of %.40q: %v, %w; want %v", r.Key, c.State, orNil(err), want)
	case c.Key != r.Key:
		return c, fmt.Errorf("claim of %.40q came back for %.40q", r.Key, c.Key)
	case want == driver.Claimed && c.Token <= 0:
		return c, fmt.Errorf("claim of %.40q has the token %d; want a positive one", r.Key, c.Token)
	case want == driver.Taken && (c.Wait < 0 || c.Wait > ttl+minute):
		return c, fmt.Errorf("claim of %.40q: taken for %v more", r.Key, c.Wait)
	}
	return c, nil
}

// lost checks that every change by a stale claim is refused.
func lost(ctx context.Context, when string, s driver.LeaseStore, c driver.Claim) error {
	for _, call := range []struct {
		name string
		err  error
	}{
		{"Extend", s.Extend(ctx, c, minute)},
		{"Complete", s.Complete(ctx, c, []byte("stale"))},
		{"Release", s.Release(ctx, c)},
	} {
		if !errors.Is(call.err, driver.ErrLeaseLost) {
			return fmt.Errorf("%s: %s: %w; want ErrLeaseLost", when, call.name, orNil(call.err))
		}
	}
	return nil
}

// must names the call that failed.
func must(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

package idempotencytest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/idempotency"
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

// RunLeases runs every case as a subtest, each on its own harness.
func RunLeases(t *testing.T, open func(t *testing.T) LeaseHarness) {
	t.Helper()
	LeaseSuite().Run(t, open)
}

// LeaseSuite returns the guarantees of a lease store.
func LeaseSuite() conformance.Suite[LeaseHarness] {
	prune, db := []conformance.Need{NeedPrune}, []conformance.Need{NeedDB}
	return conformance.Suite[LeaseHarness]{
		Cases: []conformance.Case[LeaseHarness]{
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
		},
		Limit: limit,
		Lacks: func(h LeaseHarness, n conformance.Need) bool {
			return n == NeedDB && h.DB == nil || n == NeedPrune && h.Expires
		},
		Complete: func(_ context.Context, h LeaseHarness) (LeaseHarness, error) {
			if h.Peer == nil {
				h.Peer = h.Store
			}
			return h, nil
		},
	}
}

const minute = time.Minute

// claim claims the key of a record and checks the answer.
func claim(ctx context.Context, s driver.LeaseStore, r driver.Record, ttl time.Duration, want driver.ClaimState) (idempotency.Claim, error) {
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
func lost(ctx context.Context, when string, s driver.LeaseStore, c idempotency.Claim) error {
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

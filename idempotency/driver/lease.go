package driver

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrLeaseLost is returned for a claim that does not hold its key any more: the deadline passed and
// another worker took over, or the claim was completed or released before. The receiver of the
// effect decides whether work with a stale token counts.
var ErrLeaseLost = errors.New("idempotency: the lease was lost; another worker may hold the key now")

// ErrInTransaction is returned for a claim inside a transaction on the lease store's own
// database: other workers would not see the claim before the commit.
var ErrInTransaction = errors.New("idempotency: a lease is claimed inside a transaction, where no other worker would see it; claim it before the transaction begins")

// ClaimState is the answer to a claim.
type ClaimState uint8

// The answers.
const (
	Claimed  ClaimState = iota + 1 // the caller holds the key until the deadline
	Taken                          // another worker holds it
	Done                           // it was completed; Claim.Result is the result
	Mismatch                       // it belongs to another request
)

// String returns the state in lower case.
func (s ClaimState) String() string {
	switch s {
	case Claimed:
		return "claimed"
	case Taken:
		return "taken"
	case Done:
		return "done"
	case Mismatch:
		return "mismatch"
	}
	return "unknown"
}

// Claim is the answer of a [LeaseStore].
type Claim struct {
	State ClaimState
	Key   string
	// Token is the fencing token of a Claimed key. Each claim of a key has a higher token than
	// all earlier ones, so the receiver of the effect can refuse a lower token than it has
	// seen: that holder has lost its lease and does not know it yet.
	Token int64
	// Wait is the rest of a Taken key's lease, by the store's clock.
	Wait time.Duration
	// Result is the result that Complete stored for a Done key; nil when it was empty.
	Result []byte
}

// LeaseStore stores keys of effects outside the database. A key is claimed until a deadline,
// then released or completed; a completed key stays until it is pruned. After the deadline
// another worker may claim the key. The store's clock decides. All methods are safe for
// concurrent use.
type LeaseStore interface {
	// Claim takes the key for the given time if the key is new or released, or if its lease ran
	// out and the fingerprint is the same. It never waits for the holder.
	Claim(ctx context.Context, r Record, ttl time.Duration) (Claim, error)
	// Extend moves the deadline to the given time from now, or returns ErrLeaseLost. It may
	// revive a lease that ran out if no other worker has taken over.
	Extend(ctx context.Context, c Claim, ttl time.Duration) error
	// Complete stores the key and the result permanently, or returns ErrLeaseLost. A second
	// call with the same claim changes nothing and returns nil, so it can be repeated when its
	// outcome is unknown.
	Complete(ctx context.Context, c Claim, result []byte) error
	// Release frees the key as if it had not been claimed, or returns ErrLeaseLost. A second
	// call with the same claim returns nil.
	Release(ctx context.Context, c Claim) error
	// Prune deletes up to limit keys that were completed or released, or whose deadline passed,
	// longer ago than age by the store's own clock, and returns how many.
	Prune(ctx context.Context, age time.Duration, limit int) (int, error)
}

// CheckLease returns an error if the arguments of a Claim or Extend are invalid. Stores call it
// first.
func CheckLease(key string, ttl time.Duration) error {
	if key == "" {
		return ErrEmptyKey
	}
	if ttl < time.Millisecond {
		return fmt.Errorf("idempotency: a lease of %v; use at least a millisecond, and several times the time to reach the store", ttl)
	}
	return nil
}

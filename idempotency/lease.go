package idempotency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/fault"
)

// ErrLeaseLost is returned for a claim that no longer holds its key: the
// deadline passed and another took over, or the claim was completed or released
// before. What the effect's owner does with a stale token decides whether the
// work of the loser counts.
var ErrLeaseLost = errors.New("idempotency: the lease was lost; another worker may hold the key now")

// ErrInTransaction is returned for a claim inside a transaction on the lease
// store's own database: others would not see it before the commit.
var ErrInTransaction = errors.New("idempotency: a lease is claimed inside a transaction, where nobody would see it; claim it before the transaction begins")

// ErrMismatch is returned for a key that stands for another request: its
// fingerprint differs. It is permanent.
var ErrMismatch = fault.MarkPermanent(errors.New("idempotency: the key stands for another request; use a new key for a new request"))

// TakenError is returned for a key that another worker holds. It is [fault.Busy]: a
// consumer lets the event wait until the key is done or free, however long that takes.
type TakenError struct {
	Key string
	// Wait is how long the holder's lease runs on unless it is extended.
	Wait time.Duration
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("idempotency: another worker holds the key %q for %v more; try again later", e.Key, e.Wait.Round(time.Millisecond))
}

// ClaimState is the answer to a claim.
type ClaimState uint8

// The answers.
const (
	Claimed  ClaimState = iota + 1 // the key is yours until the deadline
	Taken                          // another worker holds it
	Done                           // it was completed; Claim.Result is what that left
	Mismatch                       // it stands for another request
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

// Claim is what a [LeaseStore] answers.
type Claim struct {
	State ClaimState
	Key   string
	// Token is the fencing token of a Claimed key. Each claim of a key has a
	// higher one than those before it, so whoever has the effect can refuse a
	// lower token than it has seen: its holder has lost the lease and does not
	// know it yet.
	Token int64
	// Wait is how long a Taken key's lease runs on, by the store's clock.
	Wait time.Duration
	// Result is what Complete left, for a Done key; nil when that was nothing.
	Result []byte
}

// LeaseStore remembers keys of effects outside the database. A key is claimed
// until a deadline, then completed, which lasts until it is pruned, or released.
// After the deadline another may claim it. The store's clock decides. All
// methods are safe for concurrent use.
type LeaseStore interface {
	// Claim takes the key for the given time if it is new or released, or if
	// its lease ran out and the fingerprint is the same. It never waits for the
	// holder.
	Claim(ctx context.Context, r Record, ttl time.Duration) (Claim, error)
	// Extend moves the deadline to the given time from now, or returns
	// ErrLeaseLost. It may revive a lease that ran out when nobody has taken
	// over.
	Extend(ctx context.Context, c Claim, ttl time.Duration) error
	// Complete keeps the key and the result for good, or returns ErrLeaseLost.
	// Again with the same claim it changes nothing and returns nil, so it can
	// be repeated when its outcome is unknown.
	Complete(ctx context.Context, c Claim, result []byte) error
	// Release gives the key back as if it had not been claimed, or returns
	// ErrLeaseLost. Again with the same claim it returns nil.
	Release(ctx context.Context, c Claim) error
	// Prune forgets up to limit keys that were completed or released, or whose
	// deadline passed, before the given time, and returns how many.
	Prune(ctx context.Context, before time.Time, limit int) (int, error)
}

// CheckLease reports what is wrong with the arguments of a Claim or Extend; for
// stores to begin with.
func CheckLease(key string, ttl time.Duration) error {
	if key == "" {
		return ErrEmptyKey
	}
	if ttl < time.Millisecond {
		return fmt.Errorf("idempotency: a lease of %v; use at least a millisecond, and several times the time to reach the store", ttl)
	}
	return nil
}

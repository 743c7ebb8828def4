package driver

import (
	"context"
	"errors"
	"time"
)

// ErrEmptyKey is returned for a record or a lookup without a key: all events without a key
// would be duplicates of each other.
var ErrEmptyKey = errors.New("idempotency: the key is empty; use the event's id, or another value that names the effect")

// Record is the stored data of a handled event.
type Record struct {
	Key         string // the idempotency key; required
	Group       string // the consumer group that handled it
	EventType   string
	AggregateID string
	EventID     string
	// Fingerprint distinguishes two requests with one key, the second of which is a mistake.
	// Lease stores keep it, others do not. Empty for events.
	Fingerprint string
}

// Store stores keys. All methods are safe for concurrent use.
type Store interface {
	// Once runs fn if the key is new, and reports whether it was. A store on a database records
	// the key first, in a transaction begun with sqltx.Do, which joins one that ctx carries
	// already; fn gets a context that carries the transaction, and both commit together. With
	// false and no error, the key was recorded before and fn did not run. An error of fn is
	// returned unchanged, and leaves no key. While another call runs with the same key, Once
	// waits for its outcome, or until ctx is done. If the database rolls the transaction back
	// because of a conflict with another one, fn is run again.
	Once(ctx context.Context, r Record, fn func(ctx context.Context) error) (fresh bool, err error)
	// Seen reports whether the key is recorded. It ignores calls that are running, so it can
	// save work but not decide about it.
	Seen(ctx context.Context, key string) (bool, error)
	// Prune deletes up to limit keys that are older than age by the store's own clock, and
	// returns how many. The limit, at least 1, bounds how long Prune holds locks.
	Prune(ctx context.Context, age time.Duration, limit int) (int, error)
}

// TxStore is a [Store] that records a key in a transaction of type Tx, which the
// effect shares.
type TxStore[Tx any] interface {
	Store
	// Tx returns the transaction that the context of Once's function carries, and false for any
	// other context.
	Tx(ctx context.Context) (Tx, bool)
}

package driver

import (
	"context"
	"time"
)

// Precheck is a cheap lookup of keys whose effects are committed. It may lose any of them at
// any time.
type Precheck interface {
	// Known reports for each key whether it was marked.
	Known(ctx context.Context, keys []string) ([]bool, error)
	// Mark stores keys whose effects are committed.
	Mark(ctx context.Context, keys []string) error
}

// KeyStore is a store that keeps keys outside of the effects' database, as redisidempotency.New
// returns it: in front of that database (idempotency.NewLayered), or alone where an effect may
// happen twice when a key is lost.
type KeyStore interface {
	Forgetter
	Precheck
}

// MemoryStore keeps keys in the memory of a process, as memidempotency.New returns it.
type MemoryStore interface {
	BatchStore
	KeyStore
}

// MemoryLeaseStore keeps leases in the memory of a process, as memidempotency.NewLeases returns
// it.
type MemoryLeaseStore interface {
	LeaseStore
	// Backdate moves a key's deadline, or the time at which it ended, into the past, as if that
	// time had passed. Use it in tests, for the state after a crash.
	Backdate(ctx context.Context, key string, by time.Duration) error
}

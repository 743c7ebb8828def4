package driver

import (
	"context"
	"time"
)

// TTLs says how long a store keeps its data after their last change.
type TTLs struct {
	High    time.Duration // a lock of high priority
	Low     time.Duration // a lock of low priority
	Version time.Duration // a key's version counter
}

// Of returns the TTL of a lock.
func (t TTLs) Of(p Priority) time.Duration {
	if p == High {
		return t.High
	}
	return t.Low
}

// Store keeps locks and versions. Each method is one atomic step, and the store's own clock
// decides about expiry. All methods are safe for concurrent use.
//
// For each key it keeps the lock (priority and version), the version counter, and the mark for
// one more run with its priority. A new version is above every earlier one of its key, even
// after a loss of data.
type Store interface {
	// Request decides. Without a lock, the request takes it (Published). A high request takes
	// over a low lock, with a new version and its own TTL (Upgraded). Otherwise Request changes
	// nothing and returns the holder's ticket (AlreadyProcessing).
	//
	// In the last case, and only then, again leaves a mark on the lock: one more run, of high
	// priority if any request with again has it. The mark moves with an upgrade and ends with
	// the lock.
	Request(ctx context.Context, key string, p Priority, again bool, ttl TTLs) (Decision, error)
	// Release deletes the lock, with its mark, if the ticket holds it.
	Release(ctx context.Context, t Ticket) (released bool, err error)
	// Done ends the ticket's run if it holds the lock: a marked lock passes to a
	// new ticket with a new version and no mark, any other is deleted.
	Done(ctx context.Context, t Ticket, ttl TTLs) (End, error)
	// Extend restarts the TTLs of lock, mark and version if the ticket holds the lock.
	Extend(ctx context.Context, t Ticket, ttl TTLs) (extended bool, err error)
	// Current returns the newest version of a key; known is false if there was none, or it has
	// expired.
	Current(ctx context.Context, key string) (version int64, known bool, err error)
}

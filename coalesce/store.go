package coalesce

import (
	"context"
	"time"
)

// TTLs says how long a store keeps what it keeps, from its last change on.
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

// Store keeps locks and versions. Each method is one atomic step, and the
// store's own clock decides what has expired. It is for backends; everybody else
// uses a [Coalescer]. All methods are safe for concurrent use.
//
// Of each key it keeps the lock (priority and version), the version counter, and
// whether one more run was asked for, with the priority that it shall have. A new
// version is above every earlier one of its key, whatever was forgotten since.
type Store interface {
	// Request decides: without a lock it takes it (Published); from a lock of
	// low priority one of high priority takes it over, with a new version and
	// the TTL of its own (Upgraded); otherwise it changes nothing and says who
	// has it (AlreadyProcessing).
	//
	// In the last case, and only then, again leaves a mark at the lock: one more
	// run, of high priority when any of those who asked has it. The mark moves
	// with an upgrade and ends with the lock.
	Request(ctx context.Context, key string, p Priority, again bool, ttl TTLs) (Decision, error)
	// Release deletes the lock, with its mark, if the ticket holds it.
	Release(ctx context.Context, t Ticket) (released bool, err error)
	// Done ends the ticket's run if it holds the lock: a marked lock passes to a
	// new ticket with a new version and no mark, any other is deleted.
	Done(ctx context.Context, t Ticket, ttl TTLs) (End, error)
	// Extend begins the TTLs of lock, mark and version anew if the ticket holds
	// the lock.
	Extend(ctx context.Context, t Ticket, ttl TTLs) (extended bool, err error)
	// Current returns the newest version of a key; known is false when there was
	// none, or none that is remembered.
	Current(ctx context.Context, key string) (version int64, known bool, err error)
}

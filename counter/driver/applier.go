package driver

import (
	"context"
	"errors"
	"time"
)

// Batch is the change of one transaction to the totals.
type Batch struct {
	// ID identifies the batch, which is applied once.
	ID string
	// From and To are the interval of a [Source] that the batch covers. Both are
	// empty for deltas of a [Store].
	From, To string
	// Rows is the number of change rows, or deltas, in the batch.
	Rows int
	// Deltas are sorted by key, each key once; none of them may be zero.
	Deltas []Delta
	// Verify, when not nil, is called in the transaction that applies the batch, with its
	// context: an error rolls the transaction back. See [Verifier].
	Verify func(ctx context.Context) error
}

// Interval reports whether the batch moves the position.
func (b Batch) Interval() bool { return b.To != "" }

// Lease is the right to apply batches of a counter.
type Lease struct {
	Counter string
	Holder  string
	// Token grows with every lease, also with a new lease of the same holder.
	Token int64
	// Position is the position up to which the counter's Source is applied, "" at its
	// beginning.
	Position string
	// Server is the run of the server that gave the lease, which ends with that run; "" if an
	// applier has no other server.
	Server string
}

// Applier keeps the totals. All methods are safe for concurrent use, also by several processes.
type Applier interface {
	// Lease gives the counter to the holder until ttl from now, by the applier's clock, if the
	// counter is free, its lease has run out, or the holder has it already. Otherwise Lease
	// fails with [ErrLeaseHeld].
	Lease(ctx context.Context, counter, holder string, ttl time.Duration) (Lease, error)
	// Release ends a lease early; a lost lease is not an error.
	Release(ctx context.Context, l Lease) error
	// Apply adds the deltas to the totals, records the batch and, if it has an interval, moves
	// the position from From to To: all or nothing. It returns false, and does nothing, if the
	// batch was applied before. It fails with [ErrLeaseLost] if a newer lease was given or the
	// server is not the lease's, with [ErrMoved] if the position is not From, and with the
	// error of the batch's Verify. A batch without deltas only moves the position; without rows
	// it is not recorded either.
	Apply(ctx context.Context, l Lease, b Batch) (bool, error)
	// Totals returns the totals of the keys; keys that were never counted may be absent.
	Totals(ctx context.Context, counter string, keys []string) (map[string]int64, error)
	// Prune deletes the records of up to limit batches that were applied longer than age ago,
	// and returns how many.
	Prune(ctx context.Context, counter string, age time.Duration, limit int) (int, error)
}

// Errors of an [Applier].
var (
	ErrLeaseHeld = errors.New("counter: another flusher holds the lease")
	ErrLeaseLost = errors.New("counter: the lease was lost, to another flusher or with the server that gave it")
	ErrMoved     = errors.New("counter: the interval was applied by another flusher")
)

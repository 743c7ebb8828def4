package counter

import (
	"context"
	"errors"
	"time"
)

// Batch is what one transaction adds to the totals.
type Batch struct {
	// ID is applied once.
	ID string
	// From and To are the interval of a [Source] that the batch covers. Both are
	// empty for deltas of a [Store].
	From, To string
	// Rows is how many change rows, or deltas, the batch was made of.
	Rows int
	// Deltas are sorted by key, each key once; none of them may be zero.
	Deltas []Delta
	// Verify, when not nil, is asked in the transaction that applies the batch, whose
	// context it gets: its error takes all of it back. See [Verifier].
	Verify func(ctx context.Context) error
}

// Interval is whether the batch moves the position.
func (b Batch) Interval() bool { return b.To != "" }

// Lease is the right to apply batches of a counter.
type Lease struct {
	Counter string
	Holder  string
	// Token grows with every lease that is given, also to the same holder.
	Token int64
	// Position is how far the counter's Source is applied, "" at its beginning.
	Position string
	// Server is the run of the server that gave the lease, which ends with it; ""
	// where an applier has no other.
	Server string
}

// Applier keeps the totals. All methods are safe for concurrent use, also by
// several processes.
type Applier interface {
	// Lease gives the counter to the holder until ttl from now, by the applier's
	// clock: when nobody has it, or its time is over, or the holder has it already.
	// Otherwise it fails with [ErrLeaseHeld].
	Lease(ctx context.Context, counter, holder string, ttl time.Duration) (Lease, error)
	// Release ends a lease early; that it was lost is no error.
	Release(ctx context.Context, l Lease) error
	// Apply adds the deltas to the totals, notes the batch and, if it has an interval,
	// moves the position from From to To: all or nothing. It reports false, and does
	// nothing, when the batch was applied before. It fails with [ErrLeaseLost] when a
	// newer lease was given or the server is not the lease's, with [ErrMoved] when the
	// position is not From, and with the error of the batch's Verify. A
	// batch without deltas is good for moving the position, and is not noted when it
	// has no rows either.
	Apply(ctx context.Context, l Lease, b Batch) (bool, error)
	// Totals returns the totals of the keys; keys that were never counted may be absent.
	Totals(ctx context.Context, counter string, keys []string) (map[string]int64, error)
	// Prune forgets up to limit batches that were applied longer than age ago, and
	// returns how many.
	Prune(ctx context.Context, counter string, age time.Duration, limit int) (int, error)
}

// Errors of an [Applier].
var (
	ErrLeaseHeld = errors.New("counter: another flusher holds the lease")
	ErrLeaseLost = errors.New("counter: the lease was lost, to another flusher or with the server that gave it")
	ErrMoved     = errors.New("counter: the interval was applied by another flusher")
)

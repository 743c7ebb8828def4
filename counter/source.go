package counter

import (
	"context"
	"time"
)

// Change is one change row: a row that was created (1) or soft-deleted (-1).
type Change struct {
	Key string
	N   int64
}

// Source is the change rows of one counter in the order of their commits, which
// are the truth about its totals.
type Source interface {
	// Read returns up to max changes that follow a position, and the position behind
	// them; "" is the beginning. No change that commits is ever behind a position
	// that was returned before. When it returns fewer than max, it has returned
	// everything that was committed when the call began; the position may have moved
	// even when there are none.
	Read(ctx context.Context, after string, max int) ([]Change, string, error)
}

// Verifier is a [Source] whose database can lose what it had committed and shown, in
// a crash or by a failover to a replica that lags.
type Verifier interface {
	// Verify fails with [ErrLeaseLost] when the changes before a position that Read
	// returned are not in the log any more. It is asked in the transaction that applies
	// them, and joins it when that is of its own pool.
	Verify(ctx context.Context, position string) error
}

// Trimmer is a [Source] that can let go of changes that are applied.
type Trimmer interface {
	// Trim drops up to limit changes that are before the position and older than
	// age, and returns how many.
	Trim(ctx context.Context, applied string, age time.Duration, limit int) (int, error)
}

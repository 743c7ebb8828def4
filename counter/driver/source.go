package driver

import (
	"context"
	"time"
)

// Change is one change row: a row that was created (1) or soft-deleted (-1).
type Change struct {
	Key string
	N   int64
}

// Source is the log of one counter's change rows in the order of their commits, and the source
// of truth for its totals.
type Source interface {
	// Read returns up to max changes after a position, and the position behind them; "" is the
	// beginning. No change ever commits before a position that was already returned. If Read
	// returns fewer than max changes, it has returned all changes that were committed when the
	// call began; the position may have moved even if there are none.
	Read(ctx context.Context, after string, max int) ([]Change, string, error)
}

// Verifier is a [Source] whose database can lose changes that were committed and read, in a
// crash or by a failover to a replica that lags.
type Verifier interface {
	// Verify fails with [ErrLeaseLost] if the changes before a position that Read returned are
	// not in the log any more. It is called in the transaction that applies the changes, and
	// joins that transaction if it is on its own pool.
	Verify(ctx context.Context, position string) error
}

// Trimmer is a [Source] that can drop applied changes.
type Trimmer interface {
	// Trim drops up to limit changes that are before the position and older than
	// age, and returns how many.
	Trim(ctx context.Context, applied string, age time.Duration, limit int) (int, error)
}

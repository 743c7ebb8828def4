package sqltx

import (
	"context"
	"database/sql"
	"fmt"
)

// Adopt joins a transaction that the caller began and will end: the returned context carries
// tx, so that [On] and [Do] on db find it, and [AfterCommit] can add hooks.
//
// The caller calls end before it ends tx: end closes the transaction for further joins and hooks.
// It returns an error that wraps [ErrDoomed] if a nested Do has failed, even if its error was
// swallowed; then the caller rolls back the work done since Adopt. After the commit the caller
// calls committed, which runs the hooks.
func Adopt(ctx context.Context, db *sql.DB, tx *sql.Tx) (inside context.Context, end func() error, committed func()) {
	t := &transaction{tx: tx, db: db}
	end = func() error {
		if _, doomed := t.end(); doomed != nil {
			return fmt.Errorf("%w: %w", ErrDoomed, doomed)
		}
		return nil
	}
	return t.in(ctx, current(ctx)), end, func() { run(t.hooks) }
}

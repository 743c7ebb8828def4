package sqltx

import (
	"context"
	"database/sql"
	"fmt"
)

// Adoption is a transaction of [Adopt].
type Adoption struct{ t *transaction }

// Adopt joins a transaction that the caller began and will end: the returned context carries
// tx, so that [From], [On] and [Do] on db find it, and [AfterCommit] can add hooks.
//
// The caller calls End before it ends tx. If End returns an error, the caller rolls back the
// work done since Adopt. After the commit it calls Committed. Without Committed no hook runs.
func Adopt(ctx context.Context, db *sql.DB, tx *sql.Tx) (context.Context, *Adoption) {
	t := &transaction{tx: tx, db: db}
	return context.WithValue(ctx, contextKey{}, &frame{t, current(ctx)}), &Adoption{t}
}

// End closes the transaction for further joins and hooks. It returns an error that wraps
// [ErrDoomed] if a nested Do has failed, even if its error was swallowed.
func (a *Adoption) End() error {
	if _, doomed := a.t.end(); doomed != nil {
		return fmt.Errorf("%w: %w", ErrDoomed, doomed)
	}
	return nil
}

// Committed runs the hooks.
func (a *Adoption) Committed() { run(a.t.hooks) }

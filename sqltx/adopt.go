package sqltx

import (
	"context"
	"database/sql"
	"fmt"
)

// Adoption is a transaction of [Adopt].
type Adoption struct{ t *transaction }

// Adopt lets a transaction that somebody else began and will end take part:
// the context it returns carries tx, so that [From], [On] and [Do] on db find
// it, and [AfterCommit] can add hooks.
//
// Whoever ends tx calls End before, and rolls back what was done since Adopt
// when End returns an error; Committed after it has committed. Without
// Committed no hook runs.
func Adopt(ctx context.Context, db *sql.DB, tx *sql.Tx) (context.Context, *Adoption) {
	t := &transaction{tx: tx, db: db}
	return context.WithValue(ctx, contextKey{}, &frame{t, current(ctx)}), &Adoption{t}
}

// End closes the transaction for further joins and hooks. It returns an error
// that wraps [ErrDoomed] when a nested Do has failed, whoever swallowed that.
func (a *Adoption) End() error {
	if _, doomed := a.t.end(); doomed != nil {
		return fmt.Errorf("%w: %w", ErrDoomed, doomed)
	}
	return nil
}

// Committed runs the hooks.
func (a *Adoption) Committed() { run(a.t.hooks) }

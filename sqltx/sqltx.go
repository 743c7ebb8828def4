// Package sqltx carries a database transaction in a context and runs hooks
// after it has committed, which [database/sql.Tx] alone cannot do.
//
// The outbox wakes its relay from such a hook, the inbox guard hands its
// transaction to the handler through it, and both meet in one transaction:
//
//	err := sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
//		if _, err := tx.ExecContext(ctx, `UPDATE seats SET …`); err != nil {
//			return err
//		}
//		return box.Append(ctx, tx, event) // wakes the relay after COMMIT
//	})
//
//	property                                                      proven by
//	fn's error or panic rolls back; nothing is committed          TestDoRollsBack, TestDoPanics
//	hooks run after a successful COMMIT, never before, in order   TestHooksRunAfterCommit
//	no hook runs after a rollback or a failed COMMIT              TestHooksDroppedOnRollback
//	a nested Do on the same database joins the outer transaction  TestNestedJoins
//	an error inside a nested Do dooms the outer one, even if it
//	is swallowed on the way                                       TestNestedErrorDooms
package sqltx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// Execer runs one statement inside a transaction. [sql.Tx], [sql.Conn] and the
// transactions of common wrappers (sqlx, bun) satisfy it as they are.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// ErrDoomed is returned by an outer [Do] whose nested Do failed although the
// function swallowed that error: part of the work is missing, so nothing of it
// may be committed.
var ErrDoomed = errors.New("sqltx: a nested transaction failed; rolled back")

// transaction is what a context carries.
type transaction struct {
	tx *sql.Tx
	db *sql.DB

	mu     sync.Mutex
	hooks  []func()
	doomed error
}

type contextKey struct{}

// Option changes one call of [Do].
type Option func(*sql.TxOptions)

// WithOptions sets the isolation level and read-only flag of a transaction
// that Do begins. A Do that joins an outer transaction ignores it.
func WithOptions(o sql.TxOptions) Option { return func(t *sql.TxOptions) { *t = o } }

// Do runs fn in a transaction on db and commits it when fn returns nil. The
// context given to fn carries the transaction, so that [From] finds it and
// [AfterCommit] can add hooks. When ctx already carries a transaction on the
// same db, fn joins that one and the outer Do commits.
//
// Hooks run in the calling goroutine after COMMIT succeeded. When COMMIT fails
// its outcome can be unknown; hooks do not run then.
func Do(ctx context.Context, db *sql.DB, fn func(ctx context.Context, tx *sql.Tx) error, opts ...Option) error {
	if outer, ok := ctx.Value(contextKey{}).(*transaction); ok && outer.db == db {
		return outer.join(ctx, fn)
	}
	var o sql.TxOptions
	for _, opt := range opts {
		opt(&o)
	}
	tx, err := db.BeginTx(ctx, &o)
	if err != nil {
		return fmt.Errorf("sqltx: begin: %w", err)
	}
	// Rollback after Commit is a no-op, and it also covers a panic in fn.
	defer tx.Rollback() //nolint:errcheck // the error that matters is returned below

	t := &transaction{tx: tx, db: db}
	if err := fn(context.WithValue(ctx, contextKey{}, t), tx); err != nil {
		return err
	}
	t.mu.Lock()
	doomed, hooks := t.doomed, t.hooks
	t.mu.Unlock()
	if doomed != nil {
		return fmt.Errorf("%w: %w", ErrDoomed, doomed)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("sqltx: commit: %w", err)
	}
	for _, hook := range hooks {
		hook()
	}
	return nil
}

func (t *transaction) join(ctx context.Context, fn func(context.Context, *sql.Tx) error) (err error) {
	done := false
	defer func() {
		if done && err == nil {
			return
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.doomed == nil {
			t.doomed = err
			if !done {
				t.doomed = errors.New("panic")
			}
		}
	}()
	err = fn(ctx, t.tx)
	done = true
	return err
}

// From returns the transaction that ctx carries.
func From(ctx context.Context) (*sql.Tx, bool) {
	t, ok := ctx.Value(contextKey{}).(*transaction)
	if !ok {
		return nil, false
	}
	return t.tx, true
}

// AfterCommit registers hook to run once after the transaction that ctx
// carries has committed. It reports false, and keeps nothing, when ctx carries
// no transaction: the caller must then arrange its own signal. A hook must not
// block, and must not use the transaction.
func AfterCommit(ctx context.Context, hook func()) bool {
	t, ok := ctx.Value(contextKey{}).(*transaction)
	if !ok {
		return false
	}
	t.mu.Lock()
	t.hooks = append(t.hooks, hook)
	t.mu.Unlock()
	return true
}

// Carries reports whether ctx carries exactly the transaction x. The outbox
// asks it before it trusts [AfterCommit] with a wake-up for x.
func Carries(ctx context.Context, x Execer) bool {
	tx, ok := From(ctx)
	if !ok {
		return false
	}
	other, ok := x.(*sql.Tx)
	return ok && other == tx
}

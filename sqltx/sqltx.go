package sqltx

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// ErrEnded is returned by [Do] when the context comes from inside a Do on the
// same database that has returned already. Begin new work with the context from
// outside it.
var ErrEnded = errors.New("sqltx: the context's transaction has ended; use the context from before it")

// ErrDoomed is returned by an outer [Do] whose nested Do failed although the
// function swallowed that error: part of the work is missing, so nothing of it
// may be committed.
var ErrDoomed = errors.New("sqltx: a nested transaction failed; rolled back")

// frame is what a context carries: the transaction of the innermost Do, and
// those around it, which are on other databases or the same one again.
type frame struct {
	*transaction
	outer *frame
}

type transaction struct {
	tx   *sql.Tx
	db   *sql.DB
	conn *sql.Conn // of OnConn

	mu     sync.Mutex
	hooks  []func()
	doomed error
	ended  bool
}

type contextKey struct{}

// end closes the transaction for joins and hooks, before its outcome is known:
// what comes later would be neither committed nor run.
func (t *transaction) end() (hooks []func(), doomed error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	return t.hooks, t.doomed
}

// run calls the hooks in order, the later ones even when one panics: each
// belongs to somebody else.
func run(hooks []func()) {
	if len(hooks) == 0 {
		return
	}
	defer run(hooks[1:])
	hooks[0]()
}

func (t *transaction) join(ctx context.Context, fn func(context.Context, *sql.Tx) error) (err error) {
	t.mu.Lock()
	ended := t.ended
	t.mu.Unlock()
	if ended {
		return ErrEnded
	}
	// The innermost transaction of the context is the one that From and
	// AfterCommit mean, also when this join reaches past another database.
	ctx = context.WithValue(ctx, contextKey{}, &frame{t, current(ctx)})
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

// current returns the innermost frame, nil when ctx carries none.
func current(ctx context.Context) *frame {
	f, _ := ctx.Value(contextKey{}).(*frame)
	return f
}

// on returns the transaction on db, nil when there is none.
func (f *frame) on(db *sql.DB) *transaction {
	for ; f != nil; f = f.outer {
		if f.db == db {
			return f.transaction
		}
	}
	return nil
}

// From returns the transaction that ctx carries, the innermost when there are
// several on different databases. It is for libraries, which ask whether there is
// one: a function gets its transaction as an argument, from [Do] or from an
// idempotency guard.
func From(ctx context.Context) (*sql.Tx, bool) {
	f := current(ctx)
	if f == nil {
		return nil, false
	}
	return f.tx, true
}

// On returns the transaction on db that ctx carries, for a statement that runs
// inside it when there is one and by itself when there is none. Asking db
// itself from inside its transaction would wait for ever on a pool of one
// connection.
func On(ctx context.Context, db *sql.DB) (*sql.Tx, bool) {
	t := current(ctx).on(db)
	if t == nil {
		return nil, false
	}
	return t.tx, true
}

// Conn returns the connection of the transaction that ctx carries, the innermost, if
// Do began it with [OnConn]. Its Raw method reaches the driver. The connection ends with
// the transaction.
func Conn(ctx context.Context) (*sql.Conn, bool) {
	t := current(ctx)
	if t == nil || t.conn == nil {
		return nil, false
	}
	return t.conn, true
}

// AfterCommit registers hook to run once after the transaction that ctx
// carries has committed. It reports false, and keeps nothing, when ctx carries
// no transaction, or one that has ended: the caller must then arrange its own
// signal. A hook must not block, and must not use the transaction.
func AfterCommit(ctx context.Context, hook func()) bool {
	t := current(ctx)
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return false
	}
	t.hooks = append(t.hooks, hook)
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

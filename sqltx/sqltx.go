package sqltx

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/millrace-go/millrace/internal/intx"
)

// ErrEnded is returned by [Do] when its context comes from inside a Do on the same database
// that has returned already. Begin new work with the context that was passed to that Do.
var ErrEnded = errors.New("sqltx: the context's transaction has ended; use the context from before it")

// ErrDoomed is returned by an outer [Do] when a nested Do failed but the function swallowed its
// error: part of the work is missing, so the transaction must not be committed.
var ErrDoomed = errors.New("sqltx: a nested transaction failed; rolled back")

// frame is the value in a context: the transaction of the innermost Do, and the transactions
// around it, on other databases or the same one again.
type frame struct {
	*transaction
	outer *frame
}

type transaction struct {
	tx   *sql.Tx
	db   *sql.DB
	conn *sql.Conn // if intx.WantConn

	mu     sync.Mutex
	hooks  []func()
	doomed error
	ended  bool
}

type contextKey struct{}

// in returns the context of the transaction's work.
func (t *transaction) in(ctx context.Context, outer *frame) context.Context {
	return context.WithValue(intx.With(ctx, t.tx, t.conn), contextKey{}, &frame{t, outer})
}

// end closes the transaction for joins and hooks, before its outcome is known: later work would
// not be committed, and later hooks would not run.
func (t *transaction) end() (hooks []func(), doomed error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	return t.hooks, t.doomed
}

// run calls the hooks in order. If one panics, the later ones still run, because each hook
// belongs to a different caller.
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
	// AfterCommit uses the innermost transaction of the context, so it must be t, even
	// if this join reaches past another database.
	ctx = t.in(ctx, current(ctx))
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

// on returns the transaction on db, or nil.
func (f *frame) on(db *sql.DB) *transaction {
	for ; f != nil; f = f.outer {
		if f.db == db {
			return f.transaction
		}
	}
	return nil
}

// On returns the transaction on db that ctx carries, of [Do] or [Adopt]. Your own functions get
// theirs as an argument, from Do or from an idempotency guard. Use On for a statement that runs
// inside the transaction if there is one, and by itself otherwise. A statement on db itself, inside
// its transaction, would wait for ever on a pool of one connection.
func On(ctx context.Context, db *sql.DB) (*sql.Tx, bool) {
	t := current(ctx).on(db)
	if t == nil {
		return nil, false
	}
	return t.tx, true
}

// AfterCommit registers hook to run once after the transaction that ctx carries has committed.
// It returns false, and drops hook, if ctx carries no transaction or one that has ended: the
// caller must then signal in another way. A hook must not block, and must not use the
// transaction.
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

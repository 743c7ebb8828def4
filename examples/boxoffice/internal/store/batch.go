package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"

	"github.com/millrace-go/millrace/sqltx"
)

// maxBatch bounds how many writers share a commit. A writer takes about half a
// millisecond, so the last of a full batch waits some 30 ms more than alone.
const maxBatch = 64

type writeFunc = func(ctx context.Context, tx *sql.Tx) error

// batcher lets concurrent writers share a transaction. A writer that arrives alone does not wait;
// those that arrive while a transaction is under way share the next one, in their order.
type batcher struct {
	db *sql.DB

	mu      sync.Mutex
	queue   []*unit
	running bool // a goroutine runs the queue
}

// unit is one writer.
type unit struct {
	ctx       context.Context
	fn        writeFunc
	committed func()        // runs the hooks of its own part of a shared transaction; nil when alone
	done      chan struct{} // closed when err and crashed are set
	err       error
	crashed   any
}

func newBatcher(db *sql.DB) *batcher { return &batcher{db: db} }

func (b *batcher) do(ctx context.Context, fn writeFunc) error {
	u := &unit{ctx: ctx, fn: fn, done: make(chan struct{})}
	b.add(u)
	select {
	case <-u.done:
	case <-ctx.Done():
		if b.remove(u) {
			return context.Cause(ctx)
		}
		<-u.done // fn is running, and may use the caller's variables
	}
	if u.crashed != nil {
		panic(u.crashed)
	}
	return u.err
}

func (b *batcher) add(u *unit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, u)
	if !b.running {
		b.running = true
		go b.work()
	}
}

// remove takes a unit that has not begun out of the queue, and reports whether it did.
func (b *batcher) remove(u *unit) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.queue)
	b.queue = slices.DeleteFunc(b.queue, func(other *unit) bool { return other == u })
	return len(b.queue) < n
}

// work runs the queue until it is empty.
func (b *batcher) work() {
	for units := b.take(); units != nil; units = b.take() {
		b.run(units)
		for _, u := range units {
			close(u.done)
		}
	}
}

// take takes the units of the next transaction, and returns nil when there are none.
func (b *batcher) take() []*unit {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.queue), maxBatch)
	if n == 0 {
		b.queue, b.running = nil, false // the array goes with its units
		return nil
	}
	units := slices.Clone(b.queue[:n])
	b.queue = slices.Delete(b.queue, 0, n)
	return units
}

func (b *batcher) run(units []*unit) {
	if len(units) == 1 {
		b.alone(units[0])
		return
	}
	// The transaction belongs to all writers: it has no writer's deadline or values.
	err := sqltx.Do(context.Background(), b.db, func(ctx context.Context, tx *sql.Tx) error {
		for _, u := range units {
			if err := u.behindSavepoint(ctx, b.db, tx); err != nil {
				return err
			}
		}
		return nil
	})
	for _, u := range units {
		switch {
		case u.err != nil || u.crashed != nil:
		case err != nil:
			u.err = err
		default:
			u.told()
		}
	}
}

// told runs the hooks of a unit whose transaction has committed. A panic of a hook is
// raised in its own writer.
func (u *unit) told() {
	defer func() { u.crashed = recover() }()
	u.committed()
}

// alone runs one unit in a transaction of its own.
func (b *batcher) alone(u *unit) {
	if u.err = u.ctx.Err(); u.err != nil {
		return
	}
	defer func() { u.crashed = recover() }()
	u.err = sqltx.Do(u.ctx, b.db, u.fn)
}

// behindSavepoint runs one unit so that its failure undoes its own work only, and
// drops its own hooks only. The error it returns means that the transaction itself is
// broken.
func (u *unit) behindSavepoint(ctx context.Context, db *sql.DB, tx *sql.Tx) error {
	if u.err = u.ctx.Err(); u.err != nil {
		return nil
	}
	if _, err := tx.ExecContext(ctx, "SAVEPOINT writer"); err != nil {
		return fmt.Errorf("store: begin: %w", err)
	}
	own, end, committed := sqltx.Adopt(ctx, db, tx)
	u.committed = committed
	func() {
		defer func() { u.crashed = recover() }()
		u.err = u.fn(merged{own, u.ctx}, tx)
	}()
	if err := end(); u.err == nil {
		u.err = err
	}
	if u.err != nil || u.crashed != nil {
		if _, err := tx.ExecContext(ctx, "ROLLBACK TO writer"); err != nil {
			return fmt.Errorf("store: undo one writer: %w", err)
		}
	}
	if _, err := tx.ExecContext(ctx, "RELEASE writer"); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// merged is the transaction's context with the values of the writer's own.
type merged struct {
	context.Context
	values context.Context
}

func (m merged) Value(key any) any {
	if v := m.Context.Value(key); v != nil {
		return v
	}
	return m.values.Value(key)
}

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

// batcher lets writers that come together share one transaction. There is no
// goroutine of its own: whoever finds nobody at work leads, takes everybody who
// waits by then into its transaction, and hands the lead to the first of those
// who came meanwhile.
type batcher struct {
	db *sql.DB

	mu    sync.Mutex
	busy  bool
	queue []*unit
}

// unit is one writer. turn receives true when it must lead, false when its
// outcome stands in err.
type unit struct {
	ctx     context.Context
	fn      writeFunc
	turn    chan bool
	part    *sqltx.Adoption // its own part of a shared transaction; nil when alone
	err     error
	crashed any
}

func newBatcher(db *sql.DB) *batcher { return &batcher{db: db} }

func (b *batcher) do(ctx context.Context, fn writeFunc) error {
	u := &unit{ctx: ctx, fn: fn, turn: make(chan bool, 1)}
	b.mu.Lock()
	b.queue = append(b.queue, u)
	lead := !b.busy
	b.busy = true
	b.mu.Unlock()
	if !lead {
		select {
		case lead = <-u.turn:
		case <-ctx.Done():
			if b.withdraw(u) {
				return ctx.Err()
			}
			lead = <-u.turn // too late: it is being written, or leads
		}
	}
	if lead {
		b.lead()
	}
	if u.crashed != nil {
		panic(u.crashed)
	}
	return u.err
}

// withdraw takes u out of the queue, unless its turn has come.
func (b *batcher) withdraw(u *unit) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.queue, u)
	if i < 0 || len(u.turn) > 0 {
		return false
	}
	b.queue = slices.Delete(b.queue, i, i+1)
	return true
}

// lead runs the first of the queue, the caller's own unit among them, and
// passes the lead on.
func (b *batcher) lead() {
	b.mu.Lock()
	n := min(len(b.queue), maxBatch)
	batch := slices.Clone(b.queue[:n])
	b.queue = slices.Delete(b.queue, 0, n)
	b.mu.Unlock()

	b.run(batch)

	b.mu.Lock()
	if len(b.queue) > 0 {
		b.queue[0].turn <- true
	} else {
		b.busy = false
	}
	b.mu.Unlock()
	for _, u := range batch[1:] {
		u.turn <- false
	}
}

func (b *batcher) run(batch []*unit) {
	if len(batch) == 1 {
		b.alone(batch[0])
		return
	}
	// The transaction belongs to all: it has nobody's deadline and nobody's values.
	err := sqltx.Do(context.Background(), b.db, func(ctx context.Context, tx *sql.Tx) error {
		for _, u := range batch {
			if err := u.behindSavepoint(ctx, b.db, tx); err != nil {
				return err
			}
		}
		return nil
	})
	for _, u := range batch {
		switch {
		case u.err != nil || u.crashed != nil:
		case err != nil:
			u.err = err
		default:
			u.told()
		}
	}
}

// told runs the hooks of a unit whose transaction has committed. A hook that
// panics does so in its own writer.
func (u *unit) told() {
	defer func() { u.crashed = recover() }()
	u.part.Committed()
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
// drops its own hooks only.
// The error it returns means that the transaction itself is broken.
func (u *unit) behindSavepoint(ctx context.Context, db *sql.DB, tx *sql.Tx) error {
	if u.err = u.ctx.Err(); u.err != nil {
		return nil
	}
	if _, err := tx.ExecContext(ctx, "SAVEPOINT writer"); err != nil {
		return fmt.Errorf("store: begin: %w", err)
	}
	own, part := sqltx.Adopt(ctx, db, tx)
	u.part = part
	func() {
		defer func() { u.crashed = recover() }()
		u.err = u.fn(merged{own, u.ctx}, tx)
	}()
	if err := part.End(); u.err == nil {
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

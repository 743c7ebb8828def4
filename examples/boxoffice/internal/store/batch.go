package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/internal/batch"
	"github.com/millrace-go/millrace/sqltx"
)

// maxBatch bounds how many writers share a commit. A writer takes about half a
// millisecond, so the last of a full batch waits some 30 ms more than alone.
const maxBatch = 64

type writeFunc = func(ctx context.Context, tx *sql.Tx) error

// batcher lets concurrent writers share a transaction.
type batcher struct {
	db    *sql.DB
	units *batch.Combiner[*unit, struct{}]
}

// unit is one writer.
type unit struct {
	ctx     context.Context
	fn      writeFunc
	part    *sqltx.Adoption // its own part of a shared transaction; nil when alone
	done    chan struct{}   // closed when err and crashed are set
	err     error
	crashed any
}

func newBatcher(db *sql.DB) *batcher {
	b := &batcher{db: db}
	b.units = batch.New(maxBatch, 0, b.write)
	return b
}

func (b *batcher) do(ctx context.Context, fn writeFunc) error {
	u := &unit{ctx: ctx, fn: fn, done: make(chan struct{})}
	_, err := b.units.Do(ctx, u)
	switch {
	case errors.Is(err, batch.ErrUnknown):
		<-u.done // fn is running, and may use the caller's variables
	case err != nil:
		return err
	}
	if u.crashed != nil {
		panic(u.crashed)
	}
	return u.err
}

// write runs the units and sets their outcomes.
func (b *batcher) write(_ context.Context, units []*unit) ([]struct{}, error) {
	for _, u := range units {
		defer close(u.done)
	}
	b.run(units)
	return make([]struct{}, len(units)), nil
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
// drops its own hooks only. The error it returns means that the transaction itself is
// broken.
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

package sqlidempotency

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/sqltx"
)

// Store is an [idempotency.Store] in a SQL table.
type Store struct {
	db  *sql.DB
	cfg Config

	insert, seen, prune string
}

var _ idempotency.Store = (*Store)(nil)

// New makes a store on db, which stays the caller's to close. It does not
// touch the database; [Store.Migrate] makes the table. Handlers must write
// through the same db for their effect to be in the transaction.
func New(db *sql.DB, cfg Config) (*Store, error) {
	if db == nil {
		return nil, errors.New("sqlidempotency: db is nil; open the database that the effects go to")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Store{db: db, cfg: cfg}
	for name, text := range map[string]*string{"insert": &s.insert, "seen": &s.seen, "prune": &s.prune} {
		var err error
		if *text, err = cfg.statement(name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Once records the key and runs fn in one transaction; see [idempotency.Store].
func (s *Store) Once(ctx context.Context, r idempotency.Record, fn func(ctx context.Context) error) (bool, error) {
	id, err := s.cfg.id(r.Key)
	if err != nil {
		return false, err
	}
	args := append(id, clean(r.EventType), clean(r.AggregateID))
	if s.cfg.Layout == EventHandled {
		args = []any{id[0], clean(r.Group), clean(r.EventType), clean(r.AggregateID)}
	}
	var fresh bool
	var handler error
	err = sqltx.Do(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, s.insert, args...)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err != nil || n == 0 {
			return err
		}
		fresh = true
		handler = fn(ctx)
		return handler
	})
	switch {
	case handler != nil:
		return false, err // the handler's own: it knows what it means
	case err != nil:
		return false, fmt.Errorf("sqlidempotency: record %q: %w", r.Key, err)
	}
	return fresh, nil
}

// Seen reports whether the key is recorded. Inside a transaction on the same
// database it sees what that has recorded.
func (s *Store) Seen(ctx context.Context, key string) (bool, error) {
	id, err := s.cfg.id(key)
	if err != nil {
		return false, err
	}
	row := s.db.QueryRowContext
	if tx, ok := sqltx.On(ctx, s.db); ok {
		row = tx.QueryRowContext
	}
	var n int
	if err := row(ctx, s.seen, id...).Scan(&n); err != nil {
		return false, fmt.Errorf("sqlidempotency: look up %q: %w", key, err)
	}
	return n > 0, nil
}

// Prune deletes up to limit keys recorded before the given time, oldest first,
// in a transaction of its own or in the one that ctx carries.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	if limit < 1 {
		return 0, fmt.Errorf("sqlidempotency: prune: the limit is %d; use at least 1", limit)
	}
	var at any = before
	if s.cfg.Dialect == SQLite {
		at = before.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	var n int64
	err := sqltx.Do(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, s.prune, at, limit)
		if err == nil {
			n, err = res.RowsAffected()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("sqlidempotency: prune: %w", err)
	}
	return int(n), nil
}

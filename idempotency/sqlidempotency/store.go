package sqlidempotency

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/sqltx"
)

type store struct {
	schema
	cfg Config

	insert, insertMany, seen, prune string
	recorded, forget                string
	picked                          string // MySQL only
}

// New creates a store on db, which the caller closes. It does not connect to the database;
// Migrate creates the table. Handlers must write through the same db for their effect
// to be in the transaction.
func New(db *sql.DB, cfg Config) (driver.SQLStore[*sql.Tx], error) {
	if db == nil {
		return nil, errors.New("sqlidempotency: db is nil; open the database that the effects go to")
	}
	cfg.Table = cmp.Or(cfg.Table, cfg.layout())
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &store{schema: schema{db, files{dialect(cfg.Dialect), cfg.layout(), cfg.Table}}, cfg: cfg}
	statements := map[string]*string{
		"insert": &s.insert, "insert_many": &s.insertMany, "seen": &s.seen, "prune": &s.prune, "recorded": &s.recorded, "forget": &s.forget,
	}
	if cfg.Dialect == sqltx.MySQL {
		statements["picked"] = &s.picked
	}
	for name, text := range statements {
		var err error
		if *text, err = s.files.statement(name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Once records the key and runs fn in one transaction; see [driver.Store].
func (s *store) Once(ctx context.Context, r driver.Record, fn func(ctx context.Context) error) (bool, error) {
	row, err := s.cfg.row(r)
	if err != nil {
		return false, err
	}
	fresh, err := s.do(ctx, func() string { return r.Key }, func(ctx context.Context, tx *sql.Tx) (bool, error) {
		res, err := tx.ExecContext(ctx, s.insert, args(row)...)
		if err != nil {
			return false, err
		}
		if s.cfg.Dialect == sqltx.MySQL {
			duplicate, err := res.LastInsertId()
			return duplicate == 0, err
		}
		n, err := res.RowsAffected()
		return n > 0, err
	}, fn)
	if err != nil {
		return false, wrap(err, "record %q", r.Key)
	}
	return fresh, nil
}

// Tx returns the transaction on the store's database that ctx carries; see
// [driver.TxStore].
func (s *store) Tx(ctx context.Context) (*sql.Tx, bool) { return sqltx.On(ctx, s.db) }

// Seen reports whether the key is recorded. Inside a transaction on the same database it also
// sees the keys of that transaction.
func (s *store) Seen(ctx context.Context, key string) (bool, error) {
	id, err := s.cfg.id(key)
	if err != nil {
		return false, err
	}
	row := s.db.QueryRowContext
	if tx, ok := sqltx.On(ctx, s.db); ok {
		row = tx.QueryRowContext
	}
	var n int
	if err := row(ctx, s.seen, args(id)...).Scan(&n); err != nil {
		return false, fmt.Errorf("sqlidempotency: look up %q: %w", key, err)
	}
	return n > 0, nil
}

// Prune deletes up to limit keys that are older than age by the database's clock, oldest first, in
// its own transaction or in the one that ctx carries.
func (s *store) Prune(ctx context.Context, age time.Duration, limit int) (int, error) {
	return prune(ctx, s.db, s.prune, age, limit)
}

func prune(ctx context.Context, db *sql.DB, query string, age time.Duration, limit int) (int, error) {
	if limit < 1 {
		return 0, fmt.Errorf("sqlidempotency: prune: the limit is %d; use at least 1", limit)
	}
	var n int64
	err := sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, query, -age.Microseconds(), limit)
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

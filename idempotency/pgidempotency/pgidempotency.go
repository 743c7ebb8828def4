// Package pgidempotency is an idempotency store for handlers that write with pgx.
//
//	store, err := pgidempotency.New(pgxtx.Open(pool), sqlidempotency.Config{})
//	guard, err := idempotency.New[pgx.Tx](store, idempotency.Config{Group: "sales"})
//	fresh, err := guard.Do(ctx, e, func(ctx context.Context, tx pgx.Tx) error { … })
//
// It is the store of package sqlidempotency, with the same tables and guarantees (TestStore
// runs the same suite), in transactions of package pgxtx. Both may use one table. Failure modes
// are those of the two packages.
package pgidempotency

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/intx"
	"github.com/millrace-go/millrace/migrations"
	"github.com/millrace-go/millrace/sqltx"
	"github.com/millrace-go/millrace/sqltx/pgxtx"
)

// sqlStore is the store whose methods this one keeps, without those that it replaces.
type sqlStore interface {
	driver.BatchStore
	driver.Forgetter
	migrations.Migrator
}

type store struct {
	sqlStore
	db *sql.DB
}

// New creates a store on db, a pool of pgxtx.Open, which the caller closes. The dialect is
// PostgreSQL's. New does not connect to the database; Migrate creates the table.
func New(db *sql.DB, cfg sqlidempotency.Config) (driver.SQLStore[pgx.Tx], error) {
	cfg.Dialect = sqltx.Postgres
	s, err := sqlidempotency.New(db, cfg)
	if err != nil {
		return nil, err
	}
	return &store{s, db}, nil
}

// Once records the key and runs fn in one transaction; see [driver.Store].
func (s *store) Once(ctx context.Context, r driver.Record, fn func(ctx context.Context) error) (fresh bool, err error) {
	err = s.do(ctx, func(ctx context.Context) error {
		fresh, err = s.sqlStore.Once(ctx, r, fn)
		return err
	})
	return fresh && err == nil, err
}

// OnceBatch records the new keys and runs fn in one transaction; see
// [driver.BatchStore].
func (s *store) OnceBatch(ctx context.Context, records []driver.Record, fn func(ctx context.Context, fresh []int) error) (fresh []int, err error) {
	err = s.do(ctx, func(ctx context.Context) error {
		fresh, err = s.sqlStore.OnceBatch(ctx, records, fn)
		return err
	})
	if err != nil {
		return nil, err
	}
	return fresh, nil
}

// do begins the transaction that the inner store joins, so that it is a transaction of pgx,
// too.
func (s *store) do(ctx context.Context, fn func(ctx context.Context) error) error {
	err := sqltx.Do(intx.WantConn(ctx), s.db, func(ctx context.Context, _ *sql.Tx) error { return fn(ctx) })
	if sqltx.IsConflict(err) {
		return fault.MarkTransient(err)
	}
	return err
}

// Tx returns the transaction that ctx carries; see [driver.TxStore].
func (s *store) Tx(ctx context.Context) (pgx.Tx, bool) { return pgxtx.On(ctx, s.db) }

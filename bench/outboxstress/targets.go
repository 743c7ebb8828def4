package outboxstress

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
)

// Postgres stresses a fresh schema at the URL's search_path. done closes it.
func Postgres(ctx context.Context, url string) (t Target, done func() error, err error) {
	db, err := pgdb.Open(url)
	if err != nil {
		return Target{}, nil, err
	}
	db.SetMaxOpenConns(40)
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	if err != nil {
		return Target{}, nil, err
	}
	if err := store.Migrate(ctx); err != nil {
		return Target{}, nil, err
	}
	if _, err := db.ExecContext(ctx, `CREATE TABLE stress_unrelated (at timestamptz)`); err != nil {
		return Target{}, nil, err
	}
	return Target{
		Name: "PostgreSQL", DB: db, Store: store,
		MaxDelay: 20 * time.Millisecond, Bound: time.Second, NaiveLoses: true, EarlyNumber: `SELECT pg_current_xact_id()`,
		Foreign: func(ctx context.Context) (func() error, error) {
			return hold(ctx, db, `INSERT INTO stress_unrelated VALUES (now())`, nil)
		},
	}, db.Close, nil
}

// SQLite stresses a fresh file. done closes it.
func SQLite(ctx context.Context, path string) (t Target, done func() error, err error) {
	db, err := sqlitedb.Open(path, sqlitedb.Config{})
	if err != nil {
		return Target{}, nil, err
	}
	readers, err := sqlitedb.OpenReader(path, sqlitedb.Config{})
	if err != nil {
		return Target{}, nil, err
	}
	store, err := sqliteoutbox.New(db, sqliteoutbox.Config{})
	if err != nil {
		return Target{}, nil, err
	}
	if err := store.Migrate(ctx); err != nil {
		return Target{}, nil, err
	}
	return Target{
			// The one writer is what everybody queues for, the relay's cursor included.
			Name: "SQLite", DB: db, Store: store, MaxDelay: 2 * time.Millisecond, Bound: 3 * time.Second,
			Foreign: func(ctx context.Context) (func() error, error) {
				return hold(ctx, readers, `SELECT count(*) FROM outbox_messages`, &sql.TxOptions{ReadOnly: true})
			},
		}, func() error {
			if err := readers.Close(); err != nil {
				return err
			}
			return db.Close()
		}, nil
}

// hold begins a transaction that has done something.
func hold(ctx context.Context, db *sql.DB, query string, opts *sql.TxOptions) (func() error, error) {
	tx, err := db.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, query); err != nil {
		return nil, fmt.Errorf("%w (%w)", err, tx.Rollback())
	}
	return tx.Rollback, nil
}

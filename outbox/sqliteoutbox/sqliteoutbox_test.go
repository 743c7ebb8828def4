package sqliteoutbox_test

import (
	"context"
	"database/sql"
	"testing"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, cfg sqliteoutbox.Config) (*sqliteoutbox.Store, *sql.DB, string) {
	t.Helper()
	path, db := servicetest.SQLite(t)
	store, err := sqliteoutbox.New(db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store, db, path
}

func reader(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sqlitedb.OpenReader(path, sqlitedb.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func harness(store outbox.Store, db *sql.DB, cfg sqliteoutbox.Config) outboxtest.Harness {
	return outboxtest.Harness{
		Store: store,
		InTx: func(ctx context.Context, fn func(ctx context.Context, tx sqltx.Execer) error) error {
			return sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error { return fn(ctx, tx) })
		},
		Reopen: func(shards int) (outbox.Store, error) {
			cfg.Shards = shards
			return sqliteoutbox.New(db, cfg)
		},
	}
}

func TestConformance(t *testing.T) {
	outboxtest.Run(t, func(t testing.TB, shards int) outboxtest.Harness {
		store, db, _ := open(t, sqliteoutbox.Config{Shards: shards})
		return harness(store, db, sqliteoutbox.Config{})
	})
}

func TestConformanceWithReader(t *testing.T) {
	outboxtest.Run(t, func(t testing.TB, shards int) outboxtest.Harness {
		_, db, path := open(t, sqliteoutbox.Config{Shards: shards})
		cfg := sqliteoutbox.Config{Shards: shards, Reader: reader(t, path)}
		store, err := sqliteoutbox.New(db, cfg)
		if err != nil {
			t.Fatal(err)
		}
		return harness(store, db, cfg)
	})
}

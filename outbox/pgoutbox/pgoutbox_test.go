package pgoutbox_test

import (
	"context"
	"database/sql"
	"testing"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, cfg pgoutbox.Config) (*pgoutbox.Store, *sql.DB) {
	t.Helper()
	db := servicetest.Postgres(t)
	store, err := pgoutbox.New(db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store, db
}

func inTx(db *sql.DB) func(context.Context, func(context.Context, sqltx.Execer) error) error {
	return func(ctx context.Context, fn func(ctx context.Context, tx sqltx.Execer) error) error {
		return sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error { return fn(ctx, tx) })
	}
}

func TestConformance(t *testing.T) {
	outboxtest.Run(t, func(t testing.TB, shards int) outboxtest.Harness {
		store, db := open(t, pgoutbox.Config{Shards: shards})
		return outboxtest.Harness{
			Store: store, InTx: inTx(db),
			Reopen: func(shards int) (outbox.Store, error) { return pgoutbox.New(db, pgoutbox.Config{Shards: shards}) },
		}
	})
}

package pgoutbox_test

import (
	"database/sql"
	"testing"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

func openStatus(t testing.TB, cfg pgoutbox.StatusConfig) (*pgoutbox.StatusStore, *sql.DB) {
	t.Helper()
	db := servicetest.Postgres(t)
	store, err := pgoutbox.NewStatus(db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store, db
}

func TestStatusConformance(t *testing.T) {
	outboxtest.Run(t, func(t testing.TB, shards int) outboxtest.Harness {
		store, db := openStatus(t, pgoutbox.StatusConfig{Shards: shards})
		return outboxtest.Harness{
			Store: store, InTx: inTx(db),
			Reopen: func(shards int) (outbox.Store, error) {
				return pgoutbox.NewStatus(db, pgoutbox.StatusConfig{Shards: shards})
			},
		}
	})
}

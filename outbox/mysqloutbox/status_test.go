package mysqloutbox_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

func openStatus(t testing.TB, cfg mysqloutbox.StatusConfig) (*mysqloutbox.StatusStore, *sql.DB) {
	t.Helper()
	db := servicetest.MariaDB(t)
	store, err := mysqloutbox.NewStatus(db, cfg)
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
		store, db := openStatus(t, mysqloutbox.StatusConfig{Shards: shards})
		return outboxtest.Harness{
			Store: store, InTx: inTx(db),
			Reopen: func(shards int) (outbox.Store, error) {
				return mysqloutbox.NewStatus(db, mysqloutbox.StatusConfig{Shards: shards})
			},
		}
	})
}

// TestStatusStress is TestStress on the status store, which has no cursor that a
// naive reader could be compared with.
func TestStatusStress(t *testing.T) {
	store, db := openStatus(t, mysqloutbox.StatusConfig{Shards: 2})
	db.SetMaxOpenConns(24)
	outboxtest.RunStress(t, outboxtest.StressConfig{
		Store: store, DB: db, Unrelated: db, Duration: 3 * time.Second, UnrelatedFor: 2500 * time.Millisecond,
	})
}

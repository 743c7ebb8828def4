package sqliteoutbox_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/storetest"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
)

func openStatus(t testing.TB, shards int, withReader bool) (h outboxtest.Harness, db *sql.DB, path string) {
	t.Helper()
	path, db = servicetest.SQLite(t)
	cfg := sqliteoutbox.Config{Status: true, Shards: shards}
	if withReader {
		cfg.Reader = reader(t, path)
	}
	store, err := sqliteoutbox.New(db, cfg)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	return outboxtest.Harness{
		Store: store,
		InTx:  storetest.InTx(db),
		Reopen: func(shards int) (driver.Store, error) {
			cfg.Shards = shards
			return sqliteoutbox.New(db, cfg)
		},
	}, db, path
}

func TestStatusConformance(t *testing.T) { database.Conformance(t, true) }

func TestStatusMarksByID(t *testing.T) { database.StatusMarksByID(t) }

func TestStatusPruneGoesOn(t *testing.T) { database.StatusPruneGoesOn(t) }

func TestStatusConformanceWithReader(t *testing.T) {
	outboxtest.Run(t, func(t testing.TB, shards int) outboxtest.Harness {
		h, _, _ := openStatus(t, shards, true)
		return h
	})
}

// TestStatusStress is TestStress on the status store.
func TestStatusStress(t *testing.T) {
	h, db, path := openStatus(t, 1, true)
	read := reader(t, path)
	outboxtest.RunStress(t, outboxtest.StressConfig{
		Store: h.Store, DB: db, Unrelated: read, UnrelatedReads: true,
		Duration: 2 * time.Second, UnrelatedFor: 1500 * time.Millisecond, MaxDelay: time.Millisecond,
	})
}

package sqliteoutbox_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/statusstore/statustest"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

func openStatus(t testing.TB, shards int, withReader bool) (h outboxtest.Harness, db *sql.DB, path string) {
	t.Helper()
	path, db = servicetest.SQLite(t)
	cfg := sqliteoutbox.Config{Status: true, Shards: shards}
	if withReader {
		cfg.Reader = reader(t, path)
	}
	store, err := sqliteoutbox.New(db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return outboxtest.Harness{
		Store: store,
		InTx: func(ctx context.Context, fn func(ctx context.Context, tx sqltx.Execer) error) error {
			return sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error { return fn(ctx, tx) })
		},
		Reopen: func(shards int) (driver.Store, error) {
			cfg.Shards = shards
			return sqliteoutbox.New(db, cfg)
		},
	}, db, path
}

func TestStatusConformance(t *testing.T) {
	outboxtest.Run(t, func(t testing.TB, shards int) outboxtest.Harness {
		h, _, _ := openStatus(t, shards, false)
		return h
	})
}

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

func TestStatusMarksByID(t *testing.T) {
	h, db, _ := openStatus(t, 1, false)
	statustest.MarksByID(t, h.Store, db)
}

func TestStatusPruneGoesOn(t *testing.T) {
	h, db, _ := openStatus(t, 1, false)
	statustest.PruneGoesOn(t, h.Store.(driver.SQLStore), db)
}

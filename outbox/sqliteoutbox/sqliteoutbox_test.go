package sqliteoutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/storetest"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var database = storetest.Database{
	Open: func(t testing.TB) *sql.DB {
		_, db := servicetest.SQLite(t)
		return db
	},
	New: func(db *sql.DB, c storetest.Config) (driver.SQLStore, error) {
		return sqliteoutbox.New(db, sqliteoutbox.Config{Status: c.Status, Prefix: c.Prefix, Shards: c.Shards})
	},
	Recent: "id = ? AND created_at > (unixepoch() - 60) * 1000000",
}

func TestConformance(t *testing.T) { database.Conformance(t, false) }

func TestNewRejects(t *testing.T) { database.Rejects(t) }

func TestFewerShards(t *testing.T) { database.FewerShards(t) }

func open(t testing.TB, cfg sqliteoutbox.Config) (driver.SQLStore, *sql.DB, string) {
	t.Helper()
	path, db := servicetest.SQLite(t)
	store, err := sqliteoutbox.New(db, cfg)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	return store, db, path
}

func reader(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sqlitedb.OpenReader(path, sqlitedb.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func harness(store driver.Store, db *sql.DB, cfg sqliteoutbox.Config) outboxtest.Harness {
	return outboxtest.Harness{
		Store: store,
		InTx:  storetest.InTx(db),
		Reopen: func(shards int) (driver.Store, error) {
			cfg.Shards = shards
			return sqliteoutbox.New(db, cfg)
		},
	}
}

func TestConformanceWithReader(t *testing.T) {
	outboxtest.Run(t, func(t testing.TB, shards int) outboxtest.Harness {
		_, db, path := open(t, sqliteoutbox.Config{Shards: shards})
		cfg := sqliteoutbox.Config{Shards: shards, Reader: reader(t, path)}
		store, err := sqliteoutbox.New(db, cfg)
		require.NoError(t, err)
		return harness(store, db, cfg)
	})
}

// TestFailedLeaseIsGivenBack: if reading fails right after a lease was taken, the lease is
// released at once.
func TestFailedLeaseIsGivenBack(t *testing.T) {
	cursor, cursorDB, _ := open(t, sqliteoutbox.Config{})
	status, statusDB, _ := openStatus(t, 1, false)
	for _, of := range []struct {
		store driver.Store
		db    *sql.DB
		table string
	}{{cursor, cursorDB, "outbox_retries"}, {status.Store, statusDB, "outbox_events"}} {
		rename := func(from, to string) {
			t.Helper()
			_, err := of.db.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to)
			require.NoError(t, err)
		}
		rename(of.table, "away")
		if _, err := of.store.Lease(t.Context(), 0, "one", time.Hour); err == nil {
			t.Errorf("a lease was given without %s", of.table)
		}
		rename("away", of.table)
		_, err := of.store.Lease(t.Context(), 0, "another", time.Hour)
		assert.NoError(t, err, "after a lease that failed without %s", of.table)
	}
}

func TestOtherProcessesAreHeard(t *testing.T) {
	_, db, path := open(t, sqliteoutbox.Config{})
	// The relay's process has its own pools on the file, and an interval that never ends.
	own, err := sqlitedb.Open(path, sqlitedb.Config{Synchronous: sqlitedb.Normal})
	require.NoError(t, err)
	t.Cleanup(func() { own.Close() })
	relayStore, err := sqliteoutbox.New(own, sqliteoutbox.Config{Reader: reader(t, path)})
	require.NoError(t, err)
	pub := &outboxtest.Publisher{}
	relay, err := outbox.NewRelay(relayStore, pub, outbox.RelayConfig{Interval: time.Hour})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- relay.Run(ctx) }()

	writer, err := sqliteoutbox.New(db, sqliteoutbox.Config{})
	require.NoError(t, err)
	box, err := outbox.New(writer, outbox.Config{Topic: "t"})
	require.NoError(t, err)
	for i := range 3 {
		e, err := outboxtest.NewEvent("a", i+1)
		require.NoError(t, err)
		err = sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error { return box.Append(ctx, tx, e) })
		require.NoError(t, err)
		require.NoError(t, pub.WaitFor(ctx, i+1))
	}
	cancel()
	assert.NoError(t, <-done)
}

func TestWakeFollowsTheCommit(t *testing.T) {
	store, db, _ := open(t, sqliteoutbox.Config{})
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	require.NoError(t, err)
	wakes, cancel := store.Subscribe()
	defer cancel()
	boom := errors.New("boom")
	for i, outcome := range []error{nil, boom} {
		err := sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
			e, err := outboxtest.NewEvent("a", i+1)
			if err != nil {
				return err
			}
			if err := box.Append(ctx, tx, e); err != nil {
				return err
			}
			assert.Equal(t, 0, len(wakes), "a wake-up came before the commit")
			return outcome
		})
		require.ErrorIs(t, err, outcome)
		if woken := len(wakes) == 1; woken != (outcome == nil) {
			t.Errorf("woken is %v after the transaction ended with %v", woken, outcome)
		}
		for len(wakes) > 0 {
			<-wakes
		}
	}
	// A bare transaction has no hook: its owner calls Wake.
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	e, err := outboxtest.NewEvent("a", 3)
	require.NoError(t, err)
	require.NoError(t, errors.Join(box.Append(t.Context(), tx, e), tx.Commit()))
	assert.Equal(t, 0, len(wakes), "a bare transaction woke the relay")
	box.Wake()
	assert.Equal(t, 1, len(wakes), "Wake woke nobody")
}

// TestFirstAppendCommitsTheNumberOfShards has tables that were created without Migrate, so the
// first Append stores the number in the caller's transaction.
func TestFirstAppendCommitsTheNumberOfShards(t *testing.T) {
	_, db := servicetest.SQLite(t)
	store, err := sqliteoutbox.New(db, sqliteoutbox.Config{Shards: 2})
	require.NoError(t, err)
	var script strings.Builder
	require.NoError(t, store.PrintMigrations(&script))
	_, err = db.ExecContext(t.Context(), script.String())
	require.NoError(t, err)
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	require.NoError(t, err)
	e, err := outboxtest.NewEvent("a", 1)
	require.NoError(t, err)
	boom := errors.New("boom")
	for _, want := range []error{boom, nil, nil} {
		err := sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
			return errors.Join(box.Append(ctx, tx, e), want)
		})
		require.ErrorIs(t, err, want, "Do")
	}
	var n string
	if err := db.QueryRow(`SELECT value FROM outbox_settings WHERE name = 'shards'`).Scan(&n); err != nil || n != "2" {
		t.Errorf("stored number of shards is %q, %v; want 2", n, err)
	}
}

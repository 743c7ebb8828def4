package sqliteoutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

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
		if err != nil {
			t.Fatal(err)
		}
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
			if _, err := of.db.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
				t.Fatal(err)
			}
		}
		rename(of.table, "away")
		if _, err := of.store.Lease(t.Context(), 0, "one", time.Hour); err == nil {
			t.Errorf("a lease was given without %s", of.table)
		}
		rename("away", of.table)
		if _, err := of.store.Lease(t.Context(), 0, "another", time.Hour); err != nil {
			t.Errorf("after a lease that failed without %s: %v", of.table, err)
		}
	}
}

func TestOtherProcessesAreHeard(t *testing.T) {
	_, db, path := open(t, sqliteoutbox.Config{})
	// The relay's process has its own pools on the file, and an interval that never ends.
	own, err := sqlitedb.Open(path, sqlitedb.Config{Synchronous: sqlitedb.Normal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { own.Close() })
	relayStore, err := sqliteoutbox.New(own, sqliteoutbox.Config{Reader: reader(t, path)})
	if err != nil {
		t.Fatal(err)
	}
	pub := &outboxtest.Publisher{}
	relay, err := outbox.NewRelay(relayStore, pub, outbox.RelayConfig{Interval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- relay.Run(ctx) }()

	writer, err := sqliteoutbox.New(db, sqliteoutbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	box, err := outbox.New(writer, outbox.Config{Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		e, err := outboxtest.NewEvent("a", i+1)
		if err != nil {
			t.Fatal(err)
		}
		err = sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error { return box.Append(ctx, tx, e) })
		if err != nil {
			t.Fatal(err)
		}
		if err := pub.WaitFor(ctx, i+1); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestWakeFollowsTheCommit(t *testing.T) {
	store, db, _ := open(t, sqliteoutbox.Config{})
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
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
			if len(wakes) != 0 {
				t.Error("a wake-up came before the commit")
			}
			return outcome
		})
		if !errors.Is(err, outcome) {
			t.Fatal(err)
		}
		if woken := len(wakes) == 1; woken != (outcome == nil) {
			t.Errorf("woken is %v after the transaction ended with %v", woken, outcome)
		}
		for len(wakes) > 0 {
			<-wakes
		}
	}
	// A bare transaction has no hook: its owner calls Wake.
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := outboxtest.NewEvent("a", 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(box.Append(t.Context(), tx, e), tx.Commit()); err != nil {
		t.Fatal(err)
	}
	if len(wakes) != 0 {
		t.Error("a bare transaction woke the relay")
	}
	box.Wake()
	if len(wakes) != 1 {
		t.Error("Wake woke nobody")
	}
}

// TestFirstAppendCommitsTheNumberOfShards has tables that were created without Migrate, so the
// first Append stores the number in the caller's transaction.
func TestFirstAppendCommitsTheNumberOfShards(t *testing.T) {
	_, db := servicetest.SQLite(t)
	store, err := sqliteoutbox.New(db, sqliteoutbox.Config{Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	if err := store.PrintMigrations(&script); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), script.String()); err != nil {
		t.Fatal(err)
	}
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := outboxtest.NewEvent("a", 1)
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	for _, want := range []error{boom, nil, nil} {
		err := sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
			return errors.Join(box.Append(ctx, tx, e), want)
		})
		if !errors.Is(err, want) {
			t.Fatalf("Do returned %v, want %v", err, want)
		}
	}
	var n string
	if err := db.QueryRow(`SELECT value FROM outbox_settings WHERE name = 'shards'`).Scan(&n); err != nil || n != "2" {
		t.Errorf("stored number of shards is %q, %v; want 2", n, err)
	}
}

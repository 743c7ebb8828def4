package mysqloutbox_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/storetest"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// on returns a server as the shared tests take it.
func on(s servicetest.MySQLServer) storetest.Database {
	return storetest.Database{
		Open: s.DB,
		New: func(db *sql.DB, c storetest.Config) (driver.SQLStore, error) {
			return mysqloutbox.New(db, mysqloutbox.Config{Status: c.Status, Schema: c.Schema, Prefix: c.Prefix, Shards: c.Shards})
		},
		Elsewhere: elsewhere, Create: "CREATE DATABASE",
		Recent: "id = ? AND created_at > UTC_TIMESTAMP() - INTERVAL 1 MINUTE",
	}
}

// each runs a shared test on both servers.
func each(t *testing.T, test func(storetest.Database, *testing.T)) {
	servicetest.EachMySQL(t, func(t *testing.T, s servicetest.MySQLServer) { test(on(s), t) })
}

func TestConformance(t *testing.T) {
	each(t, func(d storetest.Database, t *testing.T) { d.Conformance(t, false) })
}

func open(t testing.TB, cfg mysqloutbox.Config) (driver.SQLStore, *sql.DB) {
	t.Helper()
	return openURL(t, servicetest.Chosen(t).URL(t), cfg)
}

// openURL opens a store with its own pool, like another process.
func openURL(t testing.TB, url string, cfg mysqloutbox.Config) (driver.SQLStore, *sql.DB) {
	t.Helper()
	db, err := mysqldb.Open(url)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	store, err := mysqloutbox.New(db, cfg)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	return store, db
}

// run starts a relay that does not poll within the test.
func run(t *testing.T, store driver.Store) *outboxtest.Publisher {
	t.Helper()
	pub := &outboxtest.Publisher{}
	r, err := outbox.NewRelay(store, pub, outbox.RelayConfig{Interval: time.Hour})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done, "Run")
	})
	return pub
}

func TestOtherProcessesAreHeard(t *testing.T) { servicetest.EachMySQL(t, testOtherProcessesAreHeard) }

func testOtherProcessesAreHeard(t *testing.T, server servicetest.MySQLServer) {
	url := server.URL(t)
	relayStore, _ := openURL(t, url, mysqloutbox.Config{})
	pub := run(t, relayStore)
	writer, db := openURL(t, url, mysqloutbox.Config{})
	box, err := outbox.New(writer, outbox.Config{Topic: "t"})
	require.NoError(t, err)
	ctx := storetest.Within(t, 20*time.Second)
	for i := range 5 {
		err := storetest.InTx(db)(ctx, func(ctx context.Context, tx sqltx.Execer) error {
			return box.Append(ctx, tx, storetest.Event(t, "a", i+1))
		})
		require.NoError(t, err)
		require.NoError(t, pub.WaitFor(ctx, i+1))
	}
	assert.NoError(t, box.Close(ctx))
	// Events that an operator of another process retries also wake the relay, and the row that
	// is appended again carries its labels.
	_, err = db.ExecContext(ctx, `
		INSERT INTO outbox_failed (id, shard, topic, message_id, message_key, headers, payload, created_at, attempts, last_error, first_failed_at)
		SELECT id + 1000, 0, topic, message_id, message_key, headers, payload, created_at, 3, 'x', NOW(6) FROM outbox_messages LIMIT 1`)
	require.NoError(t, err)
	if n, err := writer.RetryAll(ctx); err != nil || n != 1 {
		t.Fatalf("RetryAll = %d, %v", n, err)
	}
	require.NoError(t, pub.WaitFor(ctx, 6))
	var typ, aggregate, id string
	if err := db.QueryRowContext(ctx, `SELECT event_type, aggregate_type, aggregate_id FROM outbox_messages ORDER BY id DESC LIMIT 1`).
		Scan(&typ, &aggregate, &id); err != nil || typ != "Tested" || aggregate != "test" || id != "a" {
		t.Errorf("labels of a retried event are %q, %q, %q, %v", typ, aggregate, id, err)
	}
}

// A pool as an application may have it: no time parsing, two round trips per statement, rows
// counted when they change, REPEATABLE READ, another time zone.
func TestPlainPool(t *testing.T) { servicetest.EachMySQL(t, testPlainPool) }

func testPlainPool(t *testing.T, server servicetest.MySQLServer) {
	url := server.URL(t)
	user, address, _ := strings.Cut(strings.TrimPrefix(url, "mysql://"), "@")
	host, name, _ := strings.Cut(address, "/")
	db, err := sql.Open("mysql", user+"@tcp("+host+")/"+name+"?time_zone=%27%2B09%3A00%27")
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	store, err := mysqloutbox.New(db, mysqloutbox.Config{})
	require.NoError(t, err)
	ctx := storetest.Within(t, 20*time.Second)
	require.NoError(t, store.Migrate(ctx))
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	require.NoError(t, err)
	pub := run(t, store)
	for i := range 3 {
		err := storetest.InTx(db)(ctx, func(ctx context.Context, tx sqltx.Execer) error {
			return box.Append(ctx, tx, storetest.Event(t, "a", 2*i+1), storetest.Event(t, "a", 2*i+2))
		})
		require.NoError(t, err)
	}
	require.NoError(t, pub.WaitFor(ctx, 6))
	if got := pub.Published(); outboxtest.Duplicates(got)+outboxtest.Inversions(got) != 0 {
		t.Errorf("published %d events, want each of the 6 once and in order", len(got))
	}
	assert.NoError(t, box.Close(ctx))
}

func TestPrintedMigrations(t *testing.T) { servicetest.EachMySQL(t, testPrintedMigrations) }

func testPrintedMigrations(t *testing.T, server servicetest.MySQLServer) {
	url := server.URL(t)
	db, err := mysqldb.Open(url + "?multiStatements=true") // a script has several statements
	require.NoError(t, err)
	defer db.Close()
	store, err := mysqloutbox.New(db, mysqloutbox.Config{})
	require.NoError(t, err)
	var script strings.Builder
	require.NoError(t, store.PrintMigrations(&script))
	_, err = db.ExecContext(t.Context(), script.String())
	require.NoError(t, err)
	if err := store.Migrate(t.Context()); err != nil { // finds no work
		t.Fatal(err)
	}
	for _, table := range []string{"outbox_messages", "outbox_cursors", "outbox_retries", "outbox_failed", "outbox_settings"} {
		_, err := db.ExecContext(t.Context(), "SELECT 1 FROM "+table)
		assert.NoError(t, err)
	}
}

func TestNewRejects(t *testing.T) {
	on(servicetest.MySQLServer{}).Rejects(t)
	store, err := mysqloutbox.New(&sql.DB{}, mysqloutbox.Config{Poll: -1})
	require.NoError(t, err)
	assert.ErrorIs(t, store.(driver.Listener).Listen(t.Context(), func() {}), driver.ErrUnsupported, "Listen without polling")
}

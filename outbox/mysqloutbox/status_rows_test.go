package mysqloutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/storetest"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/sqltx"
)

func TestStatusRows(t *testing.T) { each(t, storetest.Database.StatusRows) }

func TestStatusLateCommit(t *testing.T) { each(t, storetest.Database.StatusLateCommit) }

// TestStatusWaitsForNobody marks, prunes and retries events of a table that the server's
// statistics take for tiny, beside a transaction that is appending. A statement that read the
// whole table would wait for that transaction's row.
func TestStatusWaitsForNobody(t *testing.T) { servicetest.EachMySQL(t, testStatusWaitsForNobody) }

func testStatusWaitsForNobody(t *testing.T, _ servicetest.MySQLServer) {
	store, db := openStatus(t, mysqloutbox.Config{})
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	require.NoError(t, err)
	storetest.Append(t, db, store, storetest.Event(t, "a", 1), storetest.Event(t, "b", 1), storetest.Event(t, "c", 1))
	_, err = db.ExecContext(t.Context(), `ANALYZE TABLE outbox_events`)
	require.NoError(t, err)
	open, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer open.Rollback() //nolint:errcheck // that is its end
	require.NoError(t, box.Append(t.Context(), open, storetest.Event(t, "a", 2)))
	ctx := storetest.Within(t, 10*time.Second) // the server waits for 50
	l, err := store.Lease(ctx, 0, "relay", time.Minute)
	require.NoError(t, err)
	b, err := store.Read(ctx, l, driver.Query{Limit: 10})
	if err != nil || len(b.Items) != 3 {
		t.Fatalf("read %d events, %v; want 3", len(b.Items), err)
	}
	err = store.Settle(ctx, l, driver.Settlement{
		Published: []*driver.Item{&b.Items[0], &b.Items[1]},
		Failures:  []driver.Failure{{Item: &b.Items[2], State: driver.Parked, Attempts: 4, Error: "x"}},
		Move:      b.Next, TTL: time.Minute,
	})
	require.NoError(t, err, "settle")
	if n, err := store.Prune(ctx, 0, time.Now().Add(time.Hour), 10); err != nil || n != 2 {
		t.Errorf("pruning deleted %d events, %v; want 2", n, err)
	}
	if n, err := store.RetryAll(ctx); err != nil || n != 1 {
		t.Errorf("RetryAll gave %d events back, %v; want 1", n, err)
	}
}

// TestStatusPlainPool uses a pool as an application may have it: REPEATABLE READ, another time
// zone, no parsing of times, two round trips per statement, and a count of the changed rows
// instead of the matched ones.
func TestStatusPlainPool(t *testing.T) { servicetest.EachMySQL(t, testStatusPlainPool) }

func testStatusPlainPool(t *testing.T, server servicetest.MySQLServer) {
	url := strings.TrimPrefix(server.URL(t), "mysql://")
	user, address, _ := strings.Cut(url, "@")
	host, name, _ := strings.Cut(address, "/")
	db, err := sql.Open("mysql", user+"@tcp("+host+")/"+name+"?time_zone=%27%2B05%3A30%27")
	require.NoError(t, err)
	defer db.Close()
	store, err := mysqloutbox.New(db, mysqloutbox.Config{Status: true})
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	pub := &outboxtest.Publisher{}
	relay, err := outbox.NewRelay(store, pub, outbox.RelayConfig{})
	require.NoError(t, err)
	for n := range 3 {
		storetest.Append(t, db, store, storetest.Event(t, "a", n+1), storetest.Event(t, "a ", n+1))
		require.NoError(t, relay.Drain(storetest.Within(t, 20*time.Second)))
	}
	if got := pub.Published(); len(got) != 6 || outboxtest.Duplicates(got)+outboxtest.Inversions(got) != 0 {
		t.Errorf("published %d events, want each of the 6 once and in order", len(got))
	}
	if n, err := store.Prune(t.Context(), 0, time.Now().Add(time.Hour), 4); err != nil || n != 4 {
		t.Errorf("pruning 4 deleted %d, %v", n, err)
	}
	if n, err := store.Prune(t.Context(), 0, time.Now().Add(-time.Hour), 4); err != nil || n != 0 {
		t.Errorf("pruning what is older than an hour deleted %d, %v; is a time not UTC?", n, err)
	}
}

// TestStatusKeysWithSpaces has keys that the collation considers equal.
func TestStatusKeysWithSpaces(t *testing.T) { servicetest.EachMySQL(t, testStatusKeysWithSpaces) }

func testStatusKeysWithSpaces(t *testing.T, _ servicetest.MySQLServer) {
	store, db := openStatus(t, mysqloutbox.Config{})
	storetest.Append(t, db, store, storetest.Event(t, "a", 1), storetest.Event(t, "a ", 1), storetest.Event(t, "a", 2))
	ctx := storetest.Within(t, 20*time.Second)
	l, err := store.Lease(ctx, 0, "first", time.Minute)
	require.NoError(t, err)
	b, err := store.Read(ctx, l, driver.Query{Limit: 10})
	if err != nil || len(b.Items) != 3 {
		t.Fatalf("read %d events, %v", len(b.Items), err)
	}
	set := driver.Settlement{TTL: time.Minute}
	for i := range b.Items {
		set.Failures = append(set.Failures, driver.Failure{Item: &b.Items[i], State: driver.MovedAside, Attempts: 1, Error: "x"})
	}
	require.NoError(t, errors.Join(store.Settle(ctx, l, set), store.Release(ctx, l)))
	if l, err = store.Lease(ctx, 0, "second", time.Minute); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, a := range l.Aside {
		counts[a.Key] = a.Count
	}
	if len(counts) != 2 || counts["a"] != 2 || counts["a "] != 1 {
		t.Errorf("%v stand aside, want two events of one key and one of the other", counts)
	}
	if b, err := store.Read(ctx, l, driver.Query{Keys: []string{"a "}, Limit: 10}); err != nil || len(b.Items) != 1 {
		t.Errorf("reading one key returned %d events, %v; want 1", len(b.Items), err)
	}
}

// TestStatusOtherProcessesAreHeard has the writer and the relay on separate pools, and a relay
// that does not poll.
func TestStatusOtherProcessesAreHeard(t *testing.T) {
	servicetest.EachMySQL(t, testStatusOtherProcessesAreHeard)
}

func testStatusOtherProcessesAreHeard(t *testing.T, server servicetest.MySQLServer) {
	url := server.URL(t)
	open := func() (driver.SQLStore, *sql.DB) {
		db, err := mysqldb.Open(url)
		require.NoError(t, err)
		t.Cleanup(func() { db.Close() })
		store, err := mysqloutbox.New(db, mysqloutbox.Config{Status: true})
		require.NoError(t, err)
		require.NoError(t, store.Migrate(t.Context()))
		return store, db
	}
	relayStore, _ := open()
	pub := run(t, relayStore)
	writer, db := open()
	ctx := storetest.Within(t, 20*time.Second)
	for n := range 3 {
		storetest.Append(t, db, writer, storetest.Event(t, "a", n+1))
		require.NoError(t, pub.WaitFor(ctx, n+1))
	}
	off, err := mysqloutbox.New(db, mysqloutbox.Config{Status: true, Poll: -1})
	require.NoError(t, err)
	assert.ErrorIs(t, off.(driver.Listener).Listen(ctx, func() {}), driver.ErrUnsupported, "Listen without polling")
}

func TestStatusAppendLimits(t *testing.T) { servicetest.EachMySQL(t, testStatusAppendLimits) }

func testStatusAppendLimits(t *testing.T, _ servicetest.MySQLServer) {
	store, db := openStatus(t, mysqloutbox.Config{})
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	require.NoError(t, err)
	e := storetest.Event(t, strings.Repeat("é", 1000), 1)
	storetest.Append(t, db, store, e)
	e = storetest.Event(t, strings.Repeat("é", 1001), 1)
	err = storetest.InTx(db)(t.Context(), func(ctx context.Context, tx sqltx.Execer) error { return box.Append(ctx, tx, e) })
	if err == nil || !strings.Contains(err.Error(), "at most 1000 fit") {
		t.Errorf("a key of 1001 characters was answered with %v", err)
	}
}

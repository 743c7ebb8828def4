package pglog

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logtest"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

var tables = sqllog.Tables{Messages: "log_messages", Cursors: "log_cursors", Labels: []string{"kind"}, Package: "test"}

// open makes a migrated log on a schema of its own.
func open(t testing.TB) (*Log, *sql.DB) {
	t.Helper()
	return openWith(t, tables)
}

func openWith(t testing.TB, tables sqllog.Tables) (*Log, *sql.DB) {
	t.Helper()
	db := servicetest.Postgres(t)
	l, err := New(db, tables)
	require.NoError(t, err)
	logtest.Migrate(t, l, db)
	return l, db
}

func entry(id string) log.Entry {
	return log.Entry{Topic: "t", MessageID: id, Key: "k", Payload: []byte("p-" + id), Labels: []string{"x"}}
}

// begin starts a transaction that ends with the test at the latest.
func begin(t testing.TB, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { tx.Rollback() })
	return tx
}

// add appends in a transaction that commits at once.
func add(t testing.TB, l *Log, db *sql.DB, ids ...string) {
	t.Helper()
	tx := begin(t, db)
	appendTo(t, l, tx, ids...)
	commit(t, tx)
}

func appendTo(t testing.TB, l *Log, tx *sql.Tx, ids ...string) {
	t.Helper()
	entries := make([]log.Entry, len(ids))
	for i, id := range ids {
		entries[i] = entry(id)
	}
	require.NoError(t, l.Append(t.Context(), tx, entries))
}

func commit(t testing.TB, tx *sql.Tx) {
	t.Helper()
	require.NoError(t, tx.Commit())
}

// read reads once and returns the ids and the next position.
func read(t testing.TB, l *Log, after log.Position, max int) (ids []string, next log.Position) {
	t.Helper()
	entries, next, err := l.Read(t.Context(), 0, after, max)
	require.NoError(t, err)
	for _, e := range entries {
		ids = append(ids, e.MessageID)
	}
	return ids, next
}

func want(t testing.TB, got []string, ids ...string) {
	t.Helper()
	require.Equalf(t, fmt.Sprint(ids), fmt.Sprint(got), "read %v, want %v", got, ids)
}

// A transaction that got its number and its ids first, but commits last, is neither skipped nor
// waited for.
func TestLateCommitIsReadAfterwards(t *testing.T) {
	l, db := open(t)
	slow := begin(t, db)
	appendTo(t, l, slow, "slow")
	add(t, l, db, "a", "b")

	ids, next := read(t, l, log.Position{}, 10)
	want(t, ids, "a", "b")
	ids, next = read(t, l, next, 10)
	want(t, ids)
	commit(t, slow)
	add(t, l, db, "c")
	ids, next = read(t, l, next, 10)
	want(t, ids, "slow", "c")
	ids, _ = read(t, l, next, 10)
	want(t, ids)
}

// A transaction that commits while a window is being drained belongs to the next one.
func TestCommitDuringDrainJoinsTheNextWindow(t *testing.T) {
	l, db := open(t)
	add(t, l, db, "1")
	late := begin(t, db)
	appendTo(t, l, late, "2")
	add(t, l, db, "3", "4")

	ids, next := read(t, l, log.Position{}, 2)
	want(t, ids, "1", "3")
	commit(t, late)
	ids, next = read(t, l, next, 2)
	want(t, ids, "4")
	ids, _ = read(t, l, next, 2)
	want(t, ids, "2")
}

// Two writers of one key, the first with the later transaction number: reading
// in transaction order would invert them.
func TestKeyOrderIsCommitOrderNotTransactionOrder(t *testing.T) {
	l, db := open(t)
	second := begin(t, db)
	if _, err := second.Exec(`SELECT pg_current_xact_id()`); err != nil { // the number comes early
		t.Fatal(err)
	}
	add(t, l, db, "first")
	appendTo(t, l, second, "second")
	commit(t, second)
	ids, _ := read(t, l, log.Position{}, 10)
	want(t, ids, "first", "second")
}

func TestSavepointsAndRollbacks(t *testing.T) {
	l, db := open(t)
	tx := begin(t, db)
	appendTo(t, l, tx, "a")
	for _, s := range []string{"SAVEPOINT one", "SAVEPOINT two"} {
		_, err := tx.Exec(s)
		require.NoError(t, err)
	}
	appendTo(t, l, tx, "b")
	_, err := tx.Exec("ROLLBACK TO SAVEPOINT two")
	require.NoError(t, err)
	appendTo(t, l, tx, "c")
	gone := begin(t, db)
	appendTo(t, l, gone, "never")
	require.NoError(t, gone.Rollback())
	commit(t, tx)
	ids, _ := read(t, l, log.Position{}, 10)
	want(t, ids, "a", "c")
}

// A transaction prepared for two-phase commit is still running to a snapshot.
func TestPreparedTransactionIsReadOnceItCommits(t *testing.T) {
	l, db := open(t)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	var limit int
	require.NoError(t, conn.QueryRowContext(t.Context(), "SHOW max_prepared_transactions").Scan(&limit))
	if limit == 0 {
		servicetest.Missing(t, "needs a PostgreSQL with max_prepared_transactions above 0")
	}
	name := fmt.Sprintf("millrace-test-%d", time.Now().UnixNano())
	exec := func(s string) {
		t.Helper()
		_, err := conn.ExecContext(t.Context(), s)
		require.NoError(t, err)
	}
	exec("BEGIN")
	require.NoError(t, l.Append(t.Context(), conn, []log.Entry{entry("prepared")}))
	exec("PREPARE TRANSACTION '" + name + "'")
	ids, next := read(t, l, log.Position{}, 10)
	want(t, ids)
	exec("COMMIT PREPARED '" + name + "'")
	ids, _ = read(t, l, next, 10)
	want(t, ids, "prepared")
}

func TestRowsOfAnOpenWindowAreNotPruned(t *testing.T) {
	l, db := open(t)
	ctx := t.Context()
	c := log.Cursor{Consumer: "c"}
	lease, err := l.Lease(ctx, c, "me", time.Minute)
	require.NoError(t, err)
	late := begin(t, db)
	appendTo(t, l, late, "late")
	add(t, l, db, "a", "b")
	_, next := read(t, l, log.Position{}, 10)
	require.NoError(t, l.Advance(ctx, lease, next, time.Minute))
	lease.Position = next
	commit(t, late)
	prune := func(want int, why string) {
		t.Helper()
		if n, err := l.Prune(ctx, 0, time.Now().Add(time.Hour), 100); err != nil || n != want {
			t.Fatalf("pruned %d, %v; want %d: %s", n, err, want, why)
		}
	}
	prune(0, "the first row was not read")
	ids, next := read(t, l, next, 10)
	want(t, ids, "late")
	require.NoError(t, l.Advance(ctx, lease, next, time.Minute))
	prune(3, "all were read")
}

func TestNotifyWakesAListener(t *testing.T) {
	l, _ := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	woken := make(chan struct{}, 16)
	done := make(chan error, 1)
	go func() { done <- l.Listen(ctx, func() { woken <- struct{}{} }) }()
	<-woken // connected
	require.NoError(t, l.Notify(ctx))
	<-woken
	cancel()
	require.NoError(t, <-done)
}

// A connection that listened is not returned to a pgxpool, and a pool of one connection is
// refused.
func TestListenOverAPool(t *testing.T) {
	cfg, err := pgxpool.ParseConfig(servicetest.PostgresURL(t))
	require.NoError(t, err)
	for _, most := range []int32{4, 1} {
		cfg.MaxConns = most
		pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
		require.NoError(t, err)
		defer pool.Close()
		db := pgdb.OverPool(pool)
		defer db.Close()
		l, err := New(db, tables)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		woken := make(chan struct{}, 16)
		done := make(chan error, 1)
		go func() { done <- l.Listen(ctx, func() { woken <- struct{}{} }) }()
		if most == 1 {
			assert.ErrorIs(t, <-done, ErrOneConnection, "on a pool of one")
			continue
		}
		select {
		case <-woken:
		case err := <-done:
			t.Fatalf("it does not listen: %v", err)
		}
		cancel()
		assert.NoError(t, <-done)
		for _, c := range pool.AcquireAllIdle(t.Context()) {
			var channels int
			if err := c.QueryRow(t.Context(), `SELECT COUNT(*) FROM pg_listening_channels()`).Scan(&channels); err != nil || channels != 0 {
				t.Errorf("a connection that listens to %d channels was given back, %v", channels, err)
			}
			c.Release()
		}
	}
}

// The listener's connection is cut; it reconnects and wakes for missed notifications.
func TestListenReconnects(t *testing.T) {
	l, db := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	woken := make(chan struct{}, 16)
	done := make(chan error, 1)
	go func() { done <- l.Listen(ctx, func() { woken <- struct{}{} }) }()
	<-woken
	_, err := db.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN ' || $1`, l.Channel())
	require.NoError(t, err)
	<-woken // again connected
	cancel()
	require.NoError(t, <-done)
}

// A backlog in a table that autovacuum has not seen is still read by index.
func TestBacklogOfAFreshTableGetsStatistics(t *testing.T) {
	l, db := open(t)
	_, err := db.Exec(`INSERT INTO log_messages (lane, topic, message_id, message_key, headers, payload)
		SELECT 0, 't', g::text, 'k', '', 'x' FROM generate_series(1, 3000) AS g`)
	require.NoError(t, err)
	ids, next := read(t, l, log.Position{}, 1000)
	more, _ := read(t, l, next, 1000)
	require.Equalf(t, 2000, len(ids)+len(more), "read %d and %d rows", len(ids), len(more))
	var rows float64
	if err := db.QueryRow(`SELECT reltuples FROM pg_class WHERE oid = 'log_messages'::regclass`).Scan(&rows); err != nil || rows != 3000 {
		t.Fatalf("the table has statistics of %v rows (%v), want 3000", rows, err)
	}
}

// A pool that is not pgx's own is read through database/sql, with the same result.
func TestBothScansAgree(t *testing.T) {
	l, db := open(t)
	add(t, l, db, "a", "b")
	tx := begin(t, db)
	empty := entry("empty")
	empty.Payload, empty.Key, empty.Headers = nil, "", `{"a":"ü"}`
	require.NoError(t, l.Append(t.Context(), tx, []log.Entry{empty}))
	commit(t, tx)
	args := []any{0, "1", 0, 10, 1000, ""}
	fast, native, err := l.scan(t.Context(), 0, 10, l.sql.openWindow.plain, args)
	require.NoError(t, err)
	rows, err := db.QueryContext(t.Context(), l.sql.openWindow.plain, args...)
	require.NoError(t, err)
	defer rows.Close()
	slow, generic, err := collect(rows, 0, 10)
	require.NoError(t, err)
	// Snapshots differ: other transactions of the server go on.
	a, err := parseHead(native)
	require.NoError(t, err)
	b, err := parseHead(generic)
	require.NoError(t, err)
	if len(fast) != 3 || a.end != b.end || a.server != b.server || a.end < 3 || a.server == "" {
		t.Fatalf("read %d rows; heads %q and %q", len(fast), native, generic)
	}
	for i := range fast {
		a, b := fast[i], slow[i]
		if !a.CreatedAt.Equal(b.CreatedAt) || string(a.Payload) != string(b.Payload) {
			t.Errorf("row %d differs: %+v and %+v", i, a, b)
		}
		a.CreatedAt, b.CreatedAt, a.Payload, b.Payload = time.Time{}, time.Time{}, nil, nil
		assert.Equalf(t, fmt.Sprintf("%+v", b), fmt.Sprintf("%+v", a), "row %d differs: %+v and %+v", i, a, b)
	}
}

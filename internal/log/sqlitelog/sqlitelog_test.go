package sqlitelog_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logtest"
	"github.com/millrace-go/millrace/internal/log/sqlitelog"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var tables = sqllog.Tables{Messages: "log_messages", Cursors: "log_cursors", Package: "test"}

// open makes a migrated log on a file of its own, with a reader pool.
func open(t testing.TB, tables sqllog.Tables) (l *sqlitelog.Log, db *sql.DB, path string) {
	t.Helper()
	path, db = servicetest.SQLite(t)
	l, err := sqlitelog.New(db, tables)
	require.NoError(t, err)
	logtest.Migrate(t, l, db)
	return l.WithReader(reader(t, path)), db, path
}

func reader(t testing.TB, path string) *sql.DB {
	t.Helper()
	r, err := sqlitedb.OpenReader(path, sqlitedb.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

func add(t testing.TB, l *sqlitelog.Log, db *sql.DB, lane int, ids ...string) {
	t.Helper()
	var entries []log.Entry
	for _, id := range ids {
		entries = append(entries, log.Entry{Lane: lane, Topic: "t", MessageID: id})
	}
	err := sqltx.Do(context.Background(), db, func(ctx context.Context, tx *sql.Tx) error {
		return l.Append(ctx, tx, entries)
	})
	require.NoError(t, err)
}

func TestConformance(t *testing.T) {
	logtest.Run(t, func(t testing.TB, tables sqllog.Tables) (sqllog.Log, *sql.DB) {
		l, db, _ := open(t, tables)
		return l, db
	})
}

// One pool with one connection for everything must work as well.
func TestWithoutReader(t *testing.T) {
	suite := logtest.Suite()
	for _, c := range suite.Cases {
		if !slices.Contains([]string{"LeaseRush", "AdvanceTogether", "Stress"}, c.Name) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			l, db, _ := open(t, logtest.Tables)
			assert.NoError(t, suite.Check(t.Context(), c, &logtest.Fixture{Log: l.WithReader(db), DB: db}))
		})
	}
}

func TestNewRejects(t *testing.T) {
	_, db := servicetest.SQLite(t)
	for name, tc := range map[string]struct {
		db     *sql.DB
		tables sqllog.Tables
	}{
		"no pool":   {nil, tables},
		"no tables": {db, sqllog.Tables{}},
		"injection": {db, sqllog.Tables{Messages: "m; DROP TABLE x", Cursors: "c", Package: "p"}},
	} {
		if _, err := sqlitelog.New(tc.db, tc.tables); err == nil {
			t.Errorf("%s: New accepted it", name)
		}
	}
}

// More entries than fit into one statement stay one transaction and in order.
func TestAppendMany(t *testing.T) {
	l, db, _ := open(t, tables)
	const total = 12_000
	want := make([]string, total)
	for i := range want {
		want[i] = strconv.Itoa(i)
	}
	add(t, l, db, 1, want...)
	entries, _, err := l.Read(t.Context(), 1, log.Position{}, total+1)
	if err != nil || len(entries) != total {
		t.Fatalf("read %d entries (%v), want %d", len(entries), err, total)
	}
	for i, e := range entries {
		require.Equalf(t, want[i], e.MessageID, "entry %d is %s", i, e.MessageID)
	}
}

func TestReadBesideWriter(t *testing.T) {
	l, db, _ := open(t, tables)
	add(t, l, db, 1, "a")
	tx, err := db.Begin() // takes the only connection and the write lock
	require.NoError(t, err)
	defer tx.Rollback()
	require.NoError(t, l.Append(t.Context(), tx, []log.Entry{{Lane: 1, Topic: "t", MessageID: "b"}}))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	entries, _, err := l.Read(ctx, 1, log.Position{}, 10)
	if err != nil || len(entries) != 1 {
		t.Fatalf("beside an open transaction read %d entries, %v; want 1", len(entries), err)
	}
	if n, _, err := l.Backlog(ctx, log.Cursor{Consumer: "c", Lane: 1}, 1, 10); err != nil || n != 1 {
		t.Fatalf("beside an open transaction the backlog is %d, %v; want 1", n, err)
	}
}

func TestStandbyDoesNotWrite(t *testing.T) {
	l, db, _ := open(t, tables)
	c := log.Cursor{Consumer: "c", Lane: 1}
	_, err := l.Lease(t.Context(), c, "holder", time.Minute)
	require.NoError(t, err)
	tx, err := db.Begin()
	require.NoError(t, err)
	defer tx.Rollback()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := l.Lease(ctx, c, "standby", time.Minute); !errors.Is(err, log.ErrLeaseHeld) {
		t.Fatalf("a standby beside an open transaction: %v, want %v", err, log.ErrLeaseHeld)
	}
}

func TestRebase(t *testing.T) {
	l, db, _ := open(t, tables)
	add(t, l, db, 1, "old 1", "old 2")
	_, err := db.Exec(`UPDATE log_messages SET created_at = created_at - 3600000000`)
	require.NoError(t, err)
	add(t, l, db, 1, "new 1", "new 2")
	c := log.Cursor{Consumer: "c", Lane: 1}
	for _, tc := range []struct {
		since time.Time
		want  int
	}{
		{time.Now().Add(-2 * time.Hour), 4},
		{time.Now().Add(-time.Minute), 2},
		{time.Now().Add(time.Minute), 0},
	} {
		held, err := l.Lease(t.Context(), c, "me", time.Minute)
		require.NoError(t, err)
		require.NoError(t, l.Rebase(t.Context(), c, tc.since))
		assert.ErrorIs(t, l.Renew(t.Context(), time.Minute, held), log.ErrLeaseLost, "renewing a rebased cursor's lease")
		if n, _, err := l.Backlog(t.Context(), c, 1, 10); err != nil || n != tc.want {
			t.Errorf("rebased to %v: the backlog is %d (%v), want %d", tc.since, n, err, tc.want)
		}
	}
}

func TestCopyGoesOn(t *testing.T) {
	lg, db, path := open(t, tables)
	add(t, lg, db, 1, "a", "b", "c")
	c := log.Cursor{Consumer: "c", Lane: 1}
	l, err := lg.Lease(t.Context(), c, "me", time.Minute)
	require.NoError(t, err)
	page, _, err := lg.Read(t.Context(), 1, l.Position, 2)
	require.NoError(t, err)
	require.NoError(t, lg.Advance(t.Context(), l, page[1].Position, time.Minute))
	require.NoError(t, lg.Release(t.Context(), l))
	_, err = db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	require.NoError(t, err)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	copied := filepath.Join(t.TempDir(), "copy.db")
	require.NoError(t, os.WriteFile(copied, content, 0o600))
	other, err := sqlitedb.Open(copied, sqlitedb.Config{})
	require.NoError(t, err)
	defer other.Close()
	copyLog, err := sqlitelog.New(other, tables)
	require.NoError(t, err)
	l, err = copyLog.Lease(t.Context(), c, "elsewhere", time.Minute)
	require.NoError(t, err)
	page, _, err = copyLog.Read(t.Context(), 1, l.Position, 10)
	if err != nil || len(page) != 1 || page[0].MessageID != "c" {
		t.Fatalf("the copy reads %v (%v), want c", page, err)
	}
}

func TestPrintedSchemaIsTheLog(t *testing.T) {
	l, _, _ := open(t, tables)
	set, err := l.Migrations()
	require.NoError(t, err)
	var script strings.Builder
	require.NoError(t, set.Print(&script))
	for _, want := range []string{"CREATE TABLE log_messages", "CREATE TABLE log_cursors", set.Table()} {
		assert.Contains(t, script.String(), want, "the printed schema lacks")
	}
	assert.Equal(t, "millrace_test_log_version", set.Table(), "the version table")
}

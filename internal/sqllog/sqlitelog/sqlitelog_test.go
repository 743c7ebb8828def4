package sqlitelog_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/internal/sqllog/sqlitelog"
	"github.com/millrace-go/millrace/internal/sqllog/sqllogtest"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var tables = sqllog.Tables{Messages: "log_messages", Cursors: "log_cursors", Package: "test"}

// open makes a migrated log on a file of its own, with a reader pool.
func open(t testing.TB, tables sqllog.Tables) (log *sqlitelog.Log, db *sql.DB, path string) {
	t.Helper()
	path, db = servicetest.SQLite(t)
	log, err := sqlitelog.New(db, tables)
	if err != nil {
		t.Fatal(err)
	}
	set, err := log.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Up(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return log.WithReader(reader(t, path)), db, path
}

func reader(t testing.TB, path string) *sql.DB {
	t.Helper()
	r, err := sqlitedb.OpenReader(path, sqlitedb.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func add(t testing.TB, log *sqlitelog.Log, db *sql.DB, lane int, ids ...string) {
	t.Helper()
	var entries []sqllog.Entry
	for _, id := range ids {
		entries = append(entries, sqllog.Entry{Lane: lane, Topic: "t", MessageID: id})
	}
	err := sqltx.Do(context.Background(), db, func(ctx context.Context, tx *sql.Tx) error {
		return log.Append(ctx, tx, entries)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	sqllogtest.Run(t, func(t testing.TB, tables sqllog.Tables) (sqllog.Log, *sql.DB) {
		log, db, _ := open(t, tables)
		return log, db
	})
}

// The same pool for everything must do as well.
func TestConformanceWithoutReader(t *testing.T) {
	sqllogtest.Run(t, func(t testing.TB, tables sqllog.Tables) (sqllog.Log, *sql.DB) {
		log, db, _ := open(t, tables)
		return log.WithReader(db), db
	})
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

// More than one statement can take stays one transaction and in order.
func TestAppendMany(t *testing.T) {
	log, db, _ := open(t, tables)
	const total = 12_000
	want := make([]string, total)
	for i := range want {
		want[i] = strconv.Itoa(i)
	}
	add(t, log, db, 1, want...)
	entries, _, err := log.Read(t.Context(), 1, sqllog.Position{}, total+1)
	if err != nil || len(entries) != total {
		t.Fatalf("read %d entries (%v), want %d", len(entries), err, total)
	}
	for i, e := range entries {
		if e.MessageID != want[i] {
			t.Fatalf("entry %d is %s", i, e.MessageID)
		}
	}
}

func TestReadBesideWriter(t *testing.T) {
	log, db, _ := open(t, tables)
	add(t, log, db, 1, "a")
	tx, err := db.Begin() // takes the only connection and the write lock
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if err := log.Append(t.Context(), tx, []sqllog.Entry{{Lane: 1, Topic: "t", MessageID: "b"}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	entries, _, err := log.Read(ctx, 1, sqllog.Position{}, 10)
	if err != nil || len(entries) != 1 {
		t.Fatalf("beside an open transaction read %d entries, %v; want 1", len(entries), err)
	}
	if n, _, err := log.Backlog(ctx, sqllog.Cursor{Consumer: "c", Lane: 1}, 10); err != nil || n != 1 {
		t.Fatalf("beside an open transaction the backlog is %d, %v; want 1", n, err)
	}
}

func TestStandbyDoesNotWrite(t *testing.T) {
	log, db, _ := open(t, tables)
	c := sqllog.Cursor{Consumer: "c", Lane: 1}
	if _, err := log.Lease(t.Context(), c, "holder", time.Minute); err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := log.Lease(ctx, c, "standby", time.Minute); !errors.Is(err, sqllog.ErrLeaseHeld) {
		t.Fatalf("a standby beside an open transaction: %v, want %v", err, sqllog.ErrLeaseHeld)
	}
}

func TestRebase(t *testing.T) {
	log, db, _ := open(t, tables)
	add(t, log, db, 1, "old 1", "old 2")
	if _, err := db.Exec(`UPDATE log_messages SET created_at = created_at - 3600000000`); err != nil {
		t.Fatal(err)
	}
	add(t, log, db, 1, "new 1", "new 2")
	c := sqllog.Cursor{Consumer: "c", Lane: 1}
	for _, tc := range []struct {
		since time.Time
		want  int
	}{
		{time.Now().Add(-2 * time.Hour), 4},
		{time.Now().Add(-time.Minute), 2},
		{time.Now().Add(time.Minute), 0},
	} {
		held, err := log.Lease(t.Context(), c, "me", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Rebase(t.Context(), c, tc.since); err != nil {
			t.Fatal(err)
		}
		if err := log.Renew(t.Context(), held, time.Minute); !errors.Is(err, sqllog.ErrLeaseLost) {
			t.Errorf("renewing a rebased cursor's lease: %v, want %v", err, sqllog.ErrLeaseLost)
		}
		if n, _, err := log.Backlog(t.Context(), c, 10); err != nil || n != tc.want {
			t.Errorf("rebased to %v: the backlog is %d (%v), want %d", tc.since, n, err, tc.want)
		}
	}
}

func TestCopyGoesOn(t *testing.T) {
	log, db, path := open(t, tables)
	add(t, log, db, 1, "a", "b", "c")
	c := sqllog.Cursor{Consumer: "c", Lane: 1}
	l, err := log.Lease(t.Context(), c, "me", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	page, _, err := log.Read(t.Context(), 1, l.Position, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Advance(t.Context(), l, page[1].Position, time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	if err := log.Release(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(copied, content, 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := sqlitedb.Open(copied, sqlitedb.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	copyLog, err := sqlitelog.New(other, tables)
	if err != nil {
		t.Fatal(err)
	}
	l, err = copyLog.Lease(t.Context(), c, "elsewhere", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	page, _, err = copyLog.Read(t.Context(), 1, l.Position, 10)
	if err != nil || len(page) != 1 || page[0].MessageID != "c" {
		t.Fatalf("the copy reads %v (%v), want c", page, err)
	}
}

func TestWatch(t *testing.T) {
	log, db, path := open(t, tables)
	changed := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- sqlitelog.Watch(ctx, reader(t, path), func() { changed <- struct{}{} }) }()
	wait(t, changed, "the first look")

	add(t, log, db, 1, "a")
	add(t, log, db, 3, "b")
	wait(t, changed, "a commit")
	lanes, last, err := log.LanesAfter(t.Context(), 0)
	if err != nil || fmt.Sprint(lanes) != "[1 3]" || last != 2 {
		t.Errorf("lanes after 0: %v up to %d (%v), want [1 3] up to 2", lanes, last, err)
	}
	lanes, last, err = log.LanesAfter(t.Context(), last)
	if err != nil || len(lanes) != 0 || last != 2 {
		t.Errorf("lanes after the last: %v up to %d (%v), want none", lanes, last, err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Watch returned %v, want context.Canceled", err)
	}
}

// A watcher whose connection breaks opens another, and reports what it may have
// missed meanwhile.
func TestWatchReconnects(t *testing.T) {
	log, db, path := open(t, tables)
	c := &cutter{driver: db.Driver(), path: path}
	r := sql.OpenDB(c)
	defer r.Close()
	changed := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- sqlitelog.Watch(ctx, r, func() { changed <- struct{}{} }) }()
	wait(t, changed, "the first look")

	c.cut.Store(true)
	for c.failed.Load() == 0 {
		runtime.Gosched()
	}
	add(t, log, db, 1, "a")
	c.cut.Store(false)
	wait(t, changed, "a commit while the watcher was away")
	add(t, log, db, 1, "b")
	wait(t, changed, "a commit after it came back")
	cancel()
	<-ended
}

// cutter opens connections whose queries fail while cut is set.
type cutter struct {
	driver driver.Driver
	path   string
	cut    atomic.Bool
	failed atomic.Int32
}

func (c *cutter) Driver() driver.Driver { return c.driver }

func (c *cutter) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open("file:" + c.path)
	return cuttable{conn, c}, err
}

type cuttable struct {
	driver.Conn
	c *cutter
}

func (q cuttable) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if q.c.cut.Load() {
		q.c.failed.Add(1)
		return nil, errors.New("the connection is cut")
	}
	return q.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func wait(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s was not reported", what)
	}
}

func TestPrintedSchemaIsTheLog(t *testing.T) {
	log, _, _ := open(t, tables)
	set, err := log.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	if err := set.Print(&script); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CREATE TABLE log_messages", "CREATE TABLE log_cursors", set.Table()} {
		if !strings.Contains(script.String(), want) {
			t.Errorf("the printed schema lacks %q", want)
		}
	}
	if set.Table() != "millrace_test_log_version" {
		t.Errorf("the version table is %s", set.Table())
	}
}

func BenchmarkAppend(b *testing.B) {
	log, db, _ := open(b, tables)
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			entries := make([]sqllog.Entry, n)
			for i := range entries {
				entries[i] = sqllog.Entry{Lane: 1, Topic: "t", MessageID: "0198c0de-0000-7000-8000-000000000000", Key: "k", Payload: make([]byte, 500)}
			}
			for b.Loop() {
				err := sqltx.Do(b.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
					return log.Append(ctx, tx, entries)
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	log, db, _ := open(b, tables)
	entries := make([]sqllog.Entry, 10_000)
	for i := range entries {
		entries[i] = sqllog.Entry{Lane: i % 3, Topic: "t", MessageID: "0198c0de-0000-7000-8000-000000000000", Key: "k", Payload: make([]byte, 500)}
	}
	err := sqltx.Do(b.Context(), db, func(ctx context.Context, tx *sql.Tx) error { return log.Append(ctx, tx, entries) })
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 256, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var at sqllog.Position
			read := 0
			for b.Loop() {
				page, next, err := log.Read(b.Context(), 1, at, n)
				if err != nil {
					b.Fatal(err)
				}
				read, at = read+len(page), next
				if len(page) < n {
					at = sqllog.Position{}
				}
			}
			b.ReportMetric(float64(read)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}

package sqlitedb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string, cfg sqlitedb.Config) *sql.DB {
	t.Helper()
	db, err := sqlitedb.Open(path, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func mustExec(t *testing.T, db interface {
	Exec(string, ...any) (sql.Result, error)
}, query string, args ...any) {
	t.Helper()
	_, err := db.Exec(query, args...)
	require.NoError(t, err, "%s", query)
}

func TestPragmas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	writer := open(t, path, sqlitedb.Config{})
	reader, err := sqlitedb.OpenReader(path, sqlitedb.Config{BusyTimeout: 3 * time.Second})
	require.NoError(t, err)
	defer reader.Close()
	normal := open(t, filepath.Join(t.TempDir(), "b.db"), sqlitedb.Config{Synchronous: sqlitedb.Normal})
	for _, tc := range []struct {
		db           *sql.DB
		pragma, want string
	}{
		{writer, "journal_mode", "wal"},
		{writer, "synchronous", "2"}, // FULL
		{writer, "busy_timeout", "10000"},
		{writer, "foreign_keys", "1"},
		{writer, "query_only", "0"},
		{reader, "journal_mode", "wal"},
		{reader, "query_only", "1"},
		{reader, "busy_timeout", "3000"},
		{normal, "synchronous", "1"}, // NORMAL
	} {
		var got string
		if err := tc.db.QueryRow("PRAGMA " + tc.pragma).Scan(&got); err != nil || got != tc.want {
			t.Errorf("PRAGMA %s = %q, %v; want %q", tc.pragma, got, err, tc.want)
		}
	}
	if n := writer.Stats().MaxOpenConnections; n != 1 {
		t.Errorf("the writer pool has up to %d connections, want 1", n)
	}
}

// Two pools stand for two processes. A deferred transaction that reads and then writes would
// fail busy here.
func TestWritersOfTwoPoolsQueue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	pools := []*sql.DB{
		open(t, path, sqlitedb.Config{Synchronous: sqlitedb.Normal}),
		open(t, path, sqlitedb.Config{Synchronous: sqlitedb.Normal, MaxOpenConns: 3}),
	}
	mustExec(t, pools[0], `CREATE TABLE n (v INTEGER)`)
	mustExec(t, pools[0], `INSERT INTO n VALUES (0)`)
	const each = 50
	var wg sync.WaitGroup
	for i := range 4 {
		db := pools[i%2]
		wg.Go(func() {
			for range each {
				if err := increment(db); err != nil {
					t.Errorf("increment: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	var v int
	if err := pools[0].QueryRow(`SELECT v FROM n`).Scan(&v); err != nil || v != 4*each {
		t.Errorf("counter = %d, %v; want %d", v, err, 4*each)
	}
}

func increment(db *sql.DB) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	var v int
	if err := tx.QueryRow(`SELECT v FROM n`).Scan(&v); err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE n SET v = ?`, v+1); err != nil {
		return err
	}
	return tx.Commit()
}

func TestReaderBesideWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	writer := open(t, path, sqlitedb.Config{})
	mustExec(t, writer, `CREATE TABLE n (v INTEGER)`)
	reader, err := sqlitedb.OpenReader(path, sqlitedb.Config{})
	require.NoError(t, err)
	defer reader.Close()

	tx, err := writer.Begin()
	require.NoError(t, err)
	mustExec(t, tx, `INSERT INTO n VALUES (1)`)
	count := func() (n int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(t, reader.QueryRowContext(ctx, `SELECT count(*) FROM n`).Scan(&n), "a read beside an open write transaction")
		return n
	}
	if n := count(); n != 0 {
		t.Errorf("the reader sees %d uncommitted rows", n)
	}
	require.NoError(t, tx.Commit())
	if n := count(); n != 1 {
		t.Errorf("the reader sees %d rows after the commit, want 1", n)
	}
}

func TestReaderCannotWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	if _, err := sqlitedb.OpenReader(path, sqlitedb.Config{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenReader of a missing file = %v, want one that is fs.ErrNotExist", err)
	}
	mustExec(t, open(t, path, sqlitedb.Config{}), `CREATE TABLE n (v INTEGER)`)
	reader, err := sqlitedb.OpenReader(path, sqlitedb.Config{})
	require.NoError(t, err)
	defer reader.Close()
	_, err = reader.Exec(`INSERT INTO n VALUES (1)`)
	if got := sqlitedb.Classify(err); got != fault.Infrastructure {
		t.Errorf("a write through the reader: %v, class %v; want a refusal of class infrastructure", err, got)
	}
}

func TestOddPaths(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"with space.db", "what?.db", "a#b.db", "100%41.db", "a&b=c;d+e.db", "ünï.db", "'quoted'.db"} {
		for _, path := range []string{filepath.Join(dir, name), "rel-" + name} {
			db := open(t, path, sqlitedb.Config{})
			mustExec(t, db, `CREATE TABLE n (v INTEGER)`)
			reader, err := sqlitedb.OpenReader(path, sqlitedb.Config{})
			if err != nil {
				t.Errorf("reader on %s: %v", path, err)
				continue
			}
			var n int
			assert.NoErrorf(t, reader.QueryRow(`SELECT count(*) FROM n`).Scan(&n), "reader on %s", path)
			reader.Close()
			_, err = os.Stat(path)
			assert.NoError(t, err, "the file is elsewhere")
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "plain.txt")
	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("no database at all ", 100)), 0o600))
	cases := []struct{ name, path, want string }{
		{"folder missing", filepath.Join(dir, "missing", "a.db"), "create it"},
		{"folder is a file", filepath.Join(file, "a.db"), "folder"},
		{"path is a folder", dir, "is a folder"},
		{"not a database", file, "not a SQLite database"},
		{"empty", "", "give a path"},
		{"in memory", ":memory:", "give a path"},
	}
	if runtime.GOOS == "linux" {
		// Not writable even for root, which file modes do not restrict.
		cases = append(cases, struct{ name, path, want string }{"folder not writable", "/proc/a.db", "write permission"})
	}
	for _, tc := range cases {
		db, err := sqlitedb.Open(tc.path, sqlitedb.Config{})
		if err == nil {
			db.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want an error with %q", tc.name, err, tc.want)
		}
	}
	for want, cfg := range map[string]sqlitedb.Config{
		"Synchronous": {Synchronous: "off"}, "BusyTimeout": {BusyTimeout: -1}, "MaxOpenConns": {MaxOpenConns: -1},
	} {
		if _, err := sqlitedb.Open(filepath.Join(dir, "a.db"), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want an error about %s", cfg, err, want)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("refused opens left files behind: %v, %v", left, err)
	}
}

func TestOpenWhileLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	tx, err := open(t, path, sqlitedb.Config{}).Begin()
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // a test's end
	other := open(t, path, sqlitedb.Config{BusyTimeout: time.Millisecond})
	_, err = other.Begin()
	if got := sqlitedb.Classify(err); got != fault.Transient {
		t.Errorf("a second writer: %v, class %v; want transient", err, got)
	}
}

func TestClassify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := open(t, path, sqlitedb.Config{})
	mustExec(t, db, `CREATE TABLE p (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL) STRICT`)
	mustExec(t, db, `CREATE TABLE c (p INTEGER REFERENCES p (id)) STRICT`)
	mustExec(t, db, `INSERT INTO p VALUES (1, 'a')`)
	failing := func(query string) error {
		_, err := db.Exec(query)
		require.Errorf(t, err, "%s did not fail", query)
		return fmt.Errorf("wrapped: %w", err)
	}
	closed := open(t, path, sqlitedb.Config{})
	conn, err := closed.Conn(context.Background())
	require.NoError(t, err)
	conn.Close()
	for _, tc := range []struct {
		name   string
		err    error
		class  fault.Class
		unique bool
	}{
		{"unique", failing(`INSERT INTO p VALUES (2, 'a')`), fault.Permanent, true},
		{"primary key", failing(`INSERT INTO p VALUES (1, 'b')`), fault.Permanent, true},
		{"not null", failing(`INSERT INTO p VALUES (3, NULL)`), fault.Permanent, false},
		{"foreign key", failing(`INSERT INTO c VALUES (99)`), fault.Permanent, false},
		{"type", failing(`INSERT INTO c VALUES ('x')`), fault.Permanent, false},
		{"syntax", failing(`SELEKT`), fault.Unclassified, false},
		{"bad connection", driver.ErrBadConn, fault.Infrastructure, false},
		{"connection done", conn.PingContext(context.Background()), fault.Infrastructure, false},
		{"foreign", errors.New("x"), fault.Unclassified, false},
		{"nil", nil, fault.Unclassified, false},
	} {
		if got := sqlitedb.Classify(tc.err); got != tc.class {
			t.Errorf("%s: Classify(%v) = %v, want %v", tc.name, tc.err, got, tc.class)
		}
		if got := sqlitedb.IsUnique(tc.err); got != tc.unique {
			t.Errorf("%s: IsUnique(%v) = %v, want %v", tc.name, tc.err, got, tc.unique)
		}
	}
}

// A pool over its page limit stands for a full disk.
func TestClassifyFull(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a.db"), sqlitedb.Config{})
	mustExec(t, db, `PRAGMA max_page_count = 3`)
	mustExec(t, db, `CREATE TABLE b (v BLOB)`)
	_, err := db.Exec(`INSERT INTO b VALUES (zeroblob(100000))`)
	if got := sqlitedb.Classify(err); got != fault.Infrastructure {
		t.Errorf("a full database: %v, class %v; want infrastructure", err, got)
	}
}

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "millrace")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	db, err := sqlitedb.Open(filepath.Join(dir, "app.db"), sqlitedb.Config{})
	if err != nil {
		panic(err)
	}
	defer db.Close()
	var mode string
	if err := db.QueryRow(`PRAGMA journal_mode`).Scan(&mode); err != nil {
		panic(err)
	}
	fmt.Println(mode)
	// Output: wal
}

// A new database is for this user alone, with the files beside it.
func TestFileMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("n/a: files have no such modes on Windows")
	}
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := sqlitedb.Open(path, sqlitedb.Config{})
	require.NoError(t, err)
	defer db.Close()
	mustExec(t, db, `CREATE TABLE t (x INTEGER)`)
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	// An existing file keeps its mode.
	shared := filepath.Join(t.TempDir(), "b.db")
	require.NoError(t, os.WriteFile(shared, nil, 0o660))
	require.NoError(t, os.Chmod(shared, 0o660))
	other, err := sqlitedb.Open(shared, sqlitedb.Config{})
	require.NoError(t, err)
	defer other.Close()
	if info, err := os.Stat(shared); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("%v, %v", info, err)
	}
}

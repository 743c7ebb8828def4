package sqlitedb

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Synchronous is when SQLite calls fsync.
type Synchronous string

const (
	// Full syncs at every commit: a commit survives a power cut.
	Full Synchronous = "FULL"
	// Normal syncs at checkpoints only: several times faster for small
	// commits, which survive a killed process but not a power cut.
	Normal Synchronous = "NORMAL"
)

// Config of a pool. The zero value is durable and right for most uses.
type Config struct {
	// Synchronous is when commits reach the disk; Full when empty.
	Synchronous Synchronous
	// BusyTimeout is how long a statement waits for another process's lock;
	// 10 s when zero. A longer one hides a stuck writer.
	BusyTimeout time.Duration
	// MaxOpenConns bounds the pool; 1 for a writer pool when zero, 4 for a
	// reader pool. More than one writer connection makes them wait for each
	// other in SQLite, which polls, instead of in Go, which queues.
	MaxOpenConns int
}

func (c Config) validate() error {
	switch c.Synchronous {
	case "", Full, Normal:
	default:
		return fmt.Errorf("sqlitedb: Synchronous is %q; use FULL or NORMAL", c.Synchronous)
	}
	if c.BusyTimeout < 0 {
		return fmt.Errorf("sqlitedb: BusyTimeout is %v; use a positive duration, or 0 for 10s", c.BusyTimeout)
	}
	if c.MaxOpenConns < 0 {
		return fmt.Errorf("sqlitedb: MaxOpenConns is %d; use a positive number, or 0 for the default", c.MaxOpenConns)
	}
	return nil
}

func (c Config) withDefaults(conns int) Config {
	if c.Synchronous == "" {
		c.Synchronous = Full
	}
	if c.BusyTimeout == 0 {
		c.BusyTimeout = 10 * time.Second
	}
	if c.MaxOpenConns == 0 {
		c.MaxOpenConns = conns
	}
	return c
}

// Open opens the file as a writer pool. If the file does not exist, Open creates it for this
// user alone, but creates no folder. Every transaction of the pool begins IMMEDIATE: a deferred
// one that reads first and writes later fails busy at once, with any timeout. The caller closes
// the pool.
func Open(path string, cfg Config) (*sql.DB, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := checkFolder(path); err != nil {
		return nil, err
	}
	if err := create(path); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults(1)
	return open(path, cfg, url.Values{
		"_txlock": {"immediate"},
		"_pragma": {
			"busy_timeout(" + strconv.FormatInt(cfg.BusyTimeout.Milliseconds(), 10) + ")",
			"journal_mode(WAL)",
			"synchronous(" + string(cfg.Synchronous) + ")",
			"foreign_keys(1)",
		},
	})
}

// OpenReader opens an existing file as a pool that can only read. Its
// transactions see one snapshot from their first statement to their end.
func OpenReader(path string, cfg Config) (*sql.DB, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("sqlitedb: %s does not exist; open it for writing first: %w", path, err)
	}
	cfg = cfg.withDefaults(4)
	return open(path, cfg, url.Values{
		// Not mode=ro: a reader of a WAL file must be able to write its -shm
		// file, and after a crash to recover the -wal file.
		"mode": {"rw"},
		"_pragma": {
			"busy_timeout(" + strconv.FormatInt(cfg.BusyTimeout.Milliseconds(), 10) + ")",
			"foreign_keys(1)",
			"query_only(1)",
		},
	})
}

func open(path string, cfg Config, params url.Values) (*sql.DB, error) {
	name, err := dsn(path, params)
	if err != nil {
		return nil, err
	}
	connector, err := sqlite.NewConnector(name)
	if err != nil {
		return nil, fmt.Errorf("sqlitedb: open %s: %w", path, err)
	}
	db := sql.OpenDB(keeping{connector})
	db.SetMaxOpenConns(cfg.MaxOpenConns)
	db.SetMaxIdleConns(cfg.MaxOpenConns)
	if err := connect(db, cfg.BusyTimeout); err != nil {
		return nil, errors.Join(explain(path, err), db.Close())
	}
	return db, nil
}

// connect makes the first connection. Turning WAL on needs exclusive access to the file, and
// SQLite does not apply the busy timeout to this wait when two processes create one file at the
// same moment.
func connect(db *sql.DB, timeout time.Duration) error {
	const pause = 20 * time.Millisecond
	for tries := int(timeout/pause) + 1; ; tries-- {
		err := db.Ping()
		if tries <= 0 || primary(err) != sqlite3.SQLITE_BUSY {
			return err
		}
		time.Sleep(pause)
	}
}

// dsn is a file: URI, because only there SQLite takes parameters and decodes
// percent signs; a bare path would end at its first question mark.
func dsn(path string, params url.Values) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("sqlitedb: %s: %w", path, err)
	}
	slashed := filepath.ToSlash(abs)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // C:/data becomes /C:/data, as SQLite's URIs require
	}
	return "file://" + (&url.URL{Path: slashed}).EscapedPath() + "?" + params.Encode(), nil
}

func checkPath(path string) error {
	if path == "" || strings.Contains(path, ":memory:") {
		return fmt.Errorf("sqlitedb: %q is no file; an in-memory database is neither durable nor shared between connections, give a path", path)
	}
	return nil
}

// checkFolder detects early an error that SQLite would report as "unable to open database file
// (14)". The folder must be writable even when the file is, since the -wal and -shm files are
// made beside it.
func checkFolder(path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("sqlitedb: the folder %s does not exist; create it or choose another path: %w", dir, err)
	case err != nil:
		return fmt.Errorf("sqlitedb: the folder %s cannot be used; check its permissions: %w", dir, err)
	case !info.IsDir():
		return fmt.Errorf("sqlitedb: %s is a file, not a folder; choose another path", dir)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("sqlitedb: %s is a folder; give the path of a file in it, such as %s", path, filepath.Join(path, "millrace.db"))
	}
	probe, err := os.CreateTemp(dir, ".millrace-probe-*")
	if err != nil {
		return fmt.Errorf("sqlitedb: the folder %s cannot be written; give this user write permission or choose another path: %w", dir, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// create makes the file when it is missing. SQLite would let every user of the machine read it,
// and the -wal and -shm files have its mode.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return fmt.Errorf("sqlitedb: %s cannot be made; give this user write permission or choose another path: %w", path, err)
	}
	return f.Close()
}

// explain adds a remedy to the errors of a first connection.
func explain(path string, err error) error {
	switch primary(err) {
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("sqlitedb: %s is not a SQLite database, or it is damaged; choose another path or restore it: %w", path, err)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return fmt.Errorf("sqlitedb: %s cannot be written; give this user write permission on the file and its folder: %w", path, err)
	case sqlite3.SQLITE_BUSY:
		return fmt.Errorf("sqlitedb: %s is locked by another process; end it or wait: %w", path, err)
	}
	return fmt.Errorf("sqlitedb: open %s: %w", path, err)
}

// primary returns SQLite's primary result code, 0 when err is not SQLite's.
func primary(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}

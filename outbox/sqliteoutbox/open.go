package sqliteoutbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/internal/sqlitedb"
)

// Open opens a SQLite file as a pool for [New]; the application uses the pool for its own
// tables too. A missing file is created, a missing folder is not. Transactions begin IMMEDIATE,
// the journal is a WAL, commits are synced, foreign keys are enforced, and a statement waits up
// to 10 s for a lock of another process. The pool has one connection, so writers of this
// process queue in Go: a query whose rows are still open delays all others. The caller closes
// the pool.
//
// Any other pool of modernc.org/sqlite works with the data source name
//
//	file:app.db?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)
func Open(path string) (*sql.DB, error) {
	db, err := sqlitedb.Open(path, sqlitedb.Config{})
	if err != nil {
		return nil, fmt.Errorf("sqliteoutbox: open: %w", err)
	}
	return db, nil
}

// OpenReader opens a file that exists as a pool of up to conns connections that only read: for
// Config.Reader, for sqlitebus.Config.ReadDB and for the application's own queries. They see
// committed rows, do not wait for the pool of Open, and nothing waits for them. The caller closes
// the pool.
func OpenReader(path string, conns int) (*sql.DB, error) {
	if conns < 1 {
		return nil, fmt.Errorf("sqliteoutbox: open a reader: conns is %d; give at least 1", conns)
	}
	db, err := sqlitedb.OpenReader(path, sqlitedb.Config{MaxOpenConns: conns})
	if err != nil {
		return nil, fmt.Errorf("sqliteoutbox: open a reader: %w", err)
	}
	return db, nil
}

// Migrate creates or updates the outbox's tables and stores the number of shards. Several
// processes may call it at once. It refuses a pool whose writers would fail instead of waiting
// for each other.
func (s *store) Migrate(ctx context.Context) error { return s.migrate(ctx, s.Store.Migrate) }

// Migrate creates or updates the outbox's tables, like the Migrate of the other store.
func (s *statusStore) Migrate(ctx context.Context) error { return s.migrate(ctx, s.Store.Migrate) }

// migrate refuses a pool that will fail sooner or later: a pool of several connections which
// do not wait while another one writes.
func (f file) migrate(ctx context.Context, migrate func(context.Context) error) error {
	timeout := 1
	if f.db.Stats().MaxOpenConnections != 1 {
		if err := f.db.QueryRowContext(ctx, `PRAGMA busy_timeout`).Scan(&timeout); err != nil {
			return fmt.Errorf("sqliteoutbox: read busy_timeout: %w", err)
		}
	}
	if timeout == 0 {
		return errors.New("sqliteoutbox: the pool has several connections and no busy timeout, so writers fail with \"database is locked\"; " +
			"open it with sqliteoutbox.Open, or add _txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL) to the data source name")
	}
	return migrate(ctx)
}

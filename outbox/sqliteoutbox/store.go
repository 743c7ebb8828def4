package sqliteoutbox

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log/sqlitelog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/internal/sqlname"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/cursorstore"
)

//go:embed sql/*.sql
var files embed.FS

// Config configures a store of [New]. The zero value works.
type Config struct {
	// Shards is the number of parts of the outbox; 1 when zero. It is stored on first use and
	// cannot change while there are events. SQLite has one writer, so more shards only gain
	// parallel publishing.
	Shards int
	// Prefix begins the tables' names; "outbox" when empty. Two outboxes in one file
	// have two prefixes. Lower-case letters, digits and _, at most 24.
	Prefix string
	// Status makes a status store, which keeps the state of each event in its row of
	// outbox_events. When false, the store is a cursor store: it remembers a position, and rows
	// never change. A relay has other defaults for each; package outbox compares them.
	Status bool
	// Reader is another pool on the same file, which may be read-only. With it the relay reads
	// beside a writer instead of waiting for one, and finds other processes' commits within
	// 50 ms instead of its Interval, at the cost of one connection. When nil, the store uses only
	// the first pool.
	Reader *sql.DB
}

type store struct {
	*cursorstore.Store
	file
}

var (
	_ driver.Store    = (*store)(nil)
	_ driver.Listener = (*store)(nil)
)

// New creates a store over db, a pool of [Open] or another pool whose transactions begin
// IMMEDIATE (_txlock=immediate). It does no I/O; call Migrate once before use. It is also a
// driver.Listener, and a Rebaser, or with Config.Status a Preferrer.
func New(db *sql.DB, cfg Config) (driver.SQLStore, error) {
	if db == nil {
		return nil, errors.New("sqliteoutbox: db is nil")
	}
	names := sqlname.Names{Prefix: cfg.Prefix}
	if err := names.Validate("Config.Schema", "Config.Prefix"); err != nil {
		return nil, fmt.Errorf("sqliteoutbox: %w", err)
	}
	if cfg.Status {
		return newStatus(db, names, cfg)
	}
	log, err := sqlitelog.New(db, cursorstore.Tables(names))
	if err != nil {
		return nil, fmt.Errorf("sqliteoutbox: %w", err)
	}
	sub, err := fs.Sub(files, "sql")
	if err != nil {
		return nil, fmt.Errorf("sqliteoutbox: %w", err)
	}
	cursor, err := cursorstore.New(db, log.WithReader(cfg.Reader), migrate.SQLite, sub, names, cfg.Shards)
	if err != nil {
		return nil, err
	}
	return &store{cursor, file{db, cfg.Reader}}, nil
}

// file is the pools of both stores.
type file struct{ db, reader *sql.DB }

// Listen implements driver.Listener. It needs Config.Reader.
func (f file) Listen(ctx context.Context, wake func()) error {
	if f.reader == nil {
		return fmt.Errorf("sqliteoutbox: listen needs a Reader in the configuration: %w", driver.ErrUnsupported)
	}
	if f.reader.Stats().MaxOpenConnections == 1 {
		return fmt.Errorf("sqliteoutbox: Reader: %w", driver.ErrOneConnection)
	}
	return sqlitelog.Watch(ctx, f.reader, wake)
}

// Classify classifies SQLite's errors, for package fault.
func Classify(err error) fault.Class { return sqlitedb.Classify(err) }

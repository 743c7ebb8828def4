package pgoutbox

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log/pglog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/sqlname"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/cursorstore"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
	"github.com/millrace-go/millrace/sqltx"
)

//go:embed sql/*.sql
var files embed.FS

// Config configures a store of [New]. The zero value works.
type Config struct {
	// Shards is the number of parts of the outbox, each published by one relay at a time; 1
	// when zero. It is stored on first use and cannot change while there are events. An idle
	// relay costs one statement per second and shard.
	Shards int
	// Schema is the schema of the tables and their versions. It must exist before Migrate. When
	// empty, it is the first one of the search path.
	Schema string
	// Prefix begins the tables' names; "outbox" when empty. Two outboxes in one schema
	// have two prefixes. Lower-case letters, digits and _, at most 24.
	Prefix string
	// Status makes a status store, which keeps the state of each event in its row of
	// outbox_events. When false, the store is a cursor store: it remembers a position, and rows
	// never change. A relay has other defaults for each; package outbox compares them.
	Status bool
}

type store struct {
	*cursorstore.Store
	server
}

var (
	_ driver.Store    = (*store)(nil)
	_ driver.Notifier = (*store)(nil)
	_ driver.Listener = (*store)(nil)

	_ driver.Adopter     = (*store)(nil)
	_ driver.Snapshotter = (*store)(nil)
)

// New makes a store over db, a pool of pgx's database/sql driver. It does no
// I/O; call Migrate once before use. It is also a driver.Notifier, Listener, Snapshotter,
// Rebaser and Adopter, and with Config.Status a Preferrer.
func New(db *sql.DB, cfg Config) (driver.SQLStore, error) {
	if db == nil {
		return nil, errors.New("pgoutbox: db is nil")
	}
	names := sqlname.Names{Schema: cfg.Schema, Prefix: cfg.Prefix}
	if err := names.Validate("Config.Schema", "Config.Prefix"); err != nil {
		return nil, fmt.Errorf("pgoutbox: %w", err)
	}
	if cfg.Status {
		return newStatus(db, names, cfg)
	}
	log, err := pglog.New(db, cursorstore.Tables(names))
	if err != nil {
		return nil, fmt.Errorf("pgoutbox: %w", err)
	}
	sub, err := fs.Sub(files, "sql")
	if err != nil {
		return nil, fmt.Errorf("pgoutbox: %w", err)
	}
	cursor, err := cursorstore.New(db, log, migrate.Postgres, sub, names, cfg.Shards)
	if err != nil {
		return nil, err
	}
	return &store{cursor, server{&snapshots{db: db}, log}}, nil
}

// Retry implements driver.Parking, and wakes the relays of other processes.
func (s *store) Retry(ctx context.Context, ids ...int64) (int, error) {
	return s.waking(ctx, s.Store.Retry, ids)
}

// RetryAll implements driver.Parking, and wakes the relays of other processes.
func (s *store) RetryAll(ctx context.Context) (int, error) { return sqlstore.RetryAll(ctx, s) }

// Tx lets Append write in a native pgx transaction. Package pgxtx wakes the relays after the
// commit of its own transactions; after the commit of any other, call Outbox.Wake.
func Tx(tx pgx.Tx) sqltx.Execer { return pgdb.Tx(tx) }

// Classify classifies PostgreSQL's errors, for package fault.
func Classify(err error) fault.Class { return pgdb.Classify(err) }

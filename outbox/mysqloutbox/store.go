package mysqloutbox

import (
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log/mysqllog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/sqlname"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/cursorstore"
)

//go:embed sql/*.sql
var files embed.FS

// Config configures a store of [New]. The zero value works.
type Config struct {
	// Shards is the number of parts of the outbox, each published by one relay at a time; 1
	// when zero. It is stored on first use and cannot change while there are events. An idle
	// relay costs one statement per second and shard, plus the cost of Poll.
	Shards int
	// Schema is the database of the tables and their versions. It must exist before Migrate.
	// When empty, it is the database of the connection.
	Schema string
	// Prefix begins the tables' names; "outbox" when empty. Two outboxes in one database
	// have two prefixes. Lower-case letters, digits and _, at most 24.
	Prefix string
	// Status makes a status store, which keeps the state of each event in its row of
	// outbox_events. When false, the store is a cursor store: it remembers a position, and rows
	// never change. A relay has other defaults for each; package outbox compares them.
	Status bool
	// Poll is how often a relay looks for commits of other processes when there are none;
	// 100 ms when zero, negative for never. After it found one, it looks 2 ms later, then after a
	// tenth of the time since. With a negative Poll, relays find those commits only after
	// RelayConfig.Interval. One look is one statement on an index, for all shards, and writes
	// nothing.
	Poll time.Duration
}

type store struct {
	*cursorstore.Store
	server
}

var (
	_ driver.Store    = (*store)(nil)
	_ driver.Listener = (*store)(nil)
)

// New makes a store over db, a pool of github.com/go-sql-driver/mysql. It does
// no I/O; call Migrate once before use. It is also a driver.Listener and Snapshotter, and
// a Rebaser, or with Config.Status a Preferrer.
func New(db *sql.DB, cfg Config) (driver.SQLStore, error) {
	if db == nil {
		return nil, errors.New("mysqloutbox: db is nil")
	}
	names := sqlname.Names{Schema: cfg.Schema, Prefix: cfg.Prefix}
	if err := names.Validate("Config.Schema", "Config.Prefix"); err != nil {
		return nil, fmt.Errorf("mysqloutbox: %w", err)
	}
	if cfg.Poll == 0 {
		cfg.Poll = mysqllog.WatchInterval
	}
	if cfg.Status {
		return newStatus(db, names, cfg)
	}
	log, err := mysqllog.New(db, cursorstore.Tables(names))
	if err != nil {
		return nil, fmt.Errorf("mysqloutbox: %w", err)
	}
	sub, err := fs.Sub(files, "sql")
	if err != nil {
		return nil, fmt.Errorf("mysqloutbox: %w", err)
	}
	cursor, err := cursorstore.New(db, log, migrate.MySQL, sub, names, cfg.Shards)
	if err != nil {
		return nil, err
	}
	return &store{cursor, server{transactions{db}, cfg.Poll, log.Watch}}, nil
}

// Classify classifies the errors of MySQL and MariaDB, for package fault.
func Classify(err error) fault.Class { return mysqldb.Classify(err) }

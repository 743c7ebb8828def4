package sqlitebus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log/logbus"
	"github.com/millrace-go/millrace/internal/log/logsub"
	"github.com/millrace-go/millrace/internal/log/sqlitelog"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

// pools are the connections of one opened URL.
type pools struct {
	db, reader *sql.DB
	watched    *sql.DB   // the watcher uses one connection for itself
	owned      []*sql.DB // opened here, closed here
}

// open opens the pools and starts the bus on them.
func open(ctx context.Context, path string, pool sqlitedb.Config, cfg Config) (*logbus.Driver, error) {
	p, err := openPools(ctx, path, pool, cfg)
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	log, err := sqlitelog.New(p.db, tables)
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	log = log.WithReader(p.reader)
	sets, err := setsOf(log)
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	d, err := logbus.Open(logbus.Parts{
		Name: "sqlitebus", Log: log, SQL: statements(), Schema: sets,
		DB: p.db, Reader: p.reader, App: p.db, LeasesTogether: true,
		Classify: classify,
		Watch:    func(ctx context.Context, hub *logsub.Hub) { watch(ctx, log, p.watched, hub) },
		Close:    p.close,
	}, logsub.Config{
		Partitions: cfg.Partitions, Retention: cfg.Retention, LeaseTTL: cfg.LeaseTTL,
		Holder: cfg.Holder, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	// A file has no server that can be absent: its faults are faults of the URL. The
	// application's transactions use the same connection, so the tables must exist before the
	// first of them publishes.
	if err := d.Ready(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func openPools(ctx context.Context, path string, pool sqlitedb.Config, cfg Config) (*pools, error) {
	p := &pools{}
	own := func(open func(string, sqlitedb.Config) (*sql.DB, error), pool sqlitedb.Config) (*sql.DB, error) {
		db, err := open(path, pool)
		if err == nil {
			p.owned = append(p.owned, db)
		}
		return db, err
	}
	shared, err := isFile(ctx, cfg.DB, path)
	if err != nil {
		return p, err
	}
	if shared {
		p.db, p.reader = cfg.DB, cfg.ReadDB
	}
	if p.db == nil {
		if p.db, err = own(sqlitedb.Open, pool); err != nil {
			return p, err
		}
	}
	if p.reader == nil {
		if p.reader, err = own(sqlitedb.OpenReader, sqlitedb.Config{}); err != nil {
			return p, err
		}
	}
	p.watched, err = own(sqlitedb.OpenReader, sqlitedb.Config{MaxOpenConns: 1})
	return p, err
}

func (p *pools) close() error {
	var errs []error
	for _, db := range p.owned {
		errs = append(errs, db.Close())
	}
	p.owned = nil
	return errors.Join(errs...)
}

// isFile reports whether the pool is on the file at path.
func isFile(ctx context.Context, db *sql.DB, path string) (bool, error) {
	if db == nil {
		return false, nil
	}
	var name string
	if err := db.QueryRowContext(ctx, `SELECT file FROM pragma_database_list WHERE name = 'main'`).Scan(&name); err != nil {
		return false, fmt.Errorf("sqlitebus: ask Config.DB for its file: %w", err)
	}
	mine, errMine := os.Stat(name) // fails for a database in memory
	other, errOther := os.Stat(path)
	return errMine == nil && errOther == nil && os.SameFile(mine, other), nil
}

// classify classifies the driver's errors. A lock that outlasts the busy timeout is a fault of
// our own database, not of a message, so it counts as infrastructure: consumers pause.
func classify(err error) fault.Class {
	class := sqlitedb.Classify(err)
	if class == fault.Transient {
		return fault.Infrastructure
	}
	return class
}

// watch wakes readers for commits of other connections: of an outbox or the application on the
// same log in this process, or of another process.
func watch(ctx context.Context, log *sqlitelog.Log, reader *sql.DB, hub *logsub.Hub) {
	last := int64(-1) // not looked yet
	//nolint:errcheck // it ends with ctx and has nothing else to say
	sqlitelog.Watch(ctx, reader, func() {
		var lanes []int
		var err error
		if last < 0 {
			// Earlier messages are read without a wake-up.
			if id, failed := log.LastID(ctx); failed == nil {
				last = id
			}
		} else if lanes, last, err = log.LanesAfter(ctx, last); err != nil {
			hub.Wake() // every reader with messages to read finds them
		} else if len(lanes) > 0 {
			hub.Wake(lanes...)
		}
		hub.WakeGroups()
	})
}

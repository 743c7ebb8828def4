package sqlitebus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/internal/sqllog/logsub"
	"github.com/millrace-go/millrace/internal/sqllog/sqlitelog"
	"github.com/millrace-go/millrace/sqltx"
)

// driver is the bus in one file.
type driver struct {
	hub    *logsub.Hub
	log    *sqlitelog.Log
	reader *sql.DB
	sql    statements
	owned  []*sql.DB // opened here, closed here

	stop    context.CancelFunc
	running sync.WaitGroup

	closeOnce sync.Once
	closeErr  error
}

var (
	_ bus.Driver    = (*driver)(nil)
	_ bus.Lagger    = (*driver)(nil)
	_ bus.Inspector = (*driver)(nil)
)

// open opens the pools, brings the tables up to date and starts the work in the
// background.
func open(ctx context.Context, path string, pool sqlitedb.Config, cfg Config) (_ *driver, err error) {
	d := &driver{}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.closePools())
		}
	}()
	own := func(open func(string, sqlitedb.Config) (*sql.DB, error), pool sqlitedb.Config) (*sql.DB, error) {
		db, err := open(path, pool)
		if err == nil {
			d.owned = append(d.owned, db)
		}
		return db, err
	}

	db, reader := cfg.DB, cfg.ReadDB
	if shared, err := isFile(ctx, db, path); err != nil {
		return nil, err
	} else if !shared {
		db, reader = nil, nil
	}
	if db == nil {
		if db, err = own(sqlitedb.Open, pool); err != nil {
			return nil, err
		}
	}
	if reader == nil {
		if reader, err = own(sqlitedb.OpenReader, sqlitedb.Config{}); err != nil {
			return nil, err
		}
	}
	// The watcher keeps a connection for itself.
	watched, err := own(sqlitedb.OpenReader, sqlitedb.Config{MaxOpenConns: 1})
	if err != nil {
		return nil, err
	}
	d.reader = reader
	if d.sql, err = loadStatements(); err != nil {
		return nil, err
	}
	log, err := sqlitelog.New(db, tables)
	if err != nil {
		return nil, err
	}
	d.log = log.WithReader(reader)
	sets, err := migrations(d.log)
	if err != nil {
		return nil, err
	}
	for _, set := range sets {
		if err := set.Up(ctx, db); err != nil {
			return nil, err
		}
	}
	d.hub, err = logsub.New(logsub.Backend{
		Log:       d.log,
		Directory: &directory{db: db, reader: reader, sql: d.sql},
		Begin: func(ctx context.Context, fn func(ctx context.Context, x sqltx.Execer) error) error {
			return sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error { return fn(ctx, tx) })
		},
		Joins:    func(ctx context.Context) bool { _, ok := sqltx.On(ctx, db); return ok },
		Classify: sqlitedb.Classify,
	}, logsub.Config{
		Partitions: cfg.Partitions, Retention: cfg.Retention, LeaseTTL: cfg.LeaseTTL, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	var run context.Context
	run, d.stop = context.WithCancel(context.WithoutCancel(ctx))
	d.running.Go(func() { d.hub.Run(run) }) //nolint:errcheck // it returns nil
	d.running.Go(func() { d.watch(run, watched) })
	return d, nil
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

// watch wakes readers for what other connections commit: in this process an
// outbox or the application on the same log, or another process.
func (d *driver) watch(ctx context.Context, reader *sql.DB) {
	last := int64(-1) // not looked yet
	//nolint:errcheck // it ends with ctx and has nothing else to say
	sqlitelog.Watch(ctx, reader, func() {
		var lanes []int
		var err error
		if last < 0 {
			// What was there before is read without being woken.
			if id, failed := d.log.LastID(ctx); failed == nil {
				last = id
			}
		} else if lanes, last, err = d.log.LanesAfter(ctx, last); err != nil {
			d.hub.Wake() // whoever has something to read finds out
		} else if len(lanes) > 0 {
			d.hub.Wake(lanes...)
		}
		d.hub.WakeGroups()
	})
}

func (d *driver) Capabilities() bus.Capabilities {
	return bus.Capabilities{Durable: true, OrderedPerKey: true, ConsumerGroups: true, Broadcast: true}
}

func (d *driver) Publisher() message.Publisher { return publisher{d.hub.Publisher()} }

func (d *driver) Subscriber(group string, window int) (message.Subscriber, error) {
	s, err := d.hub.Subscriber(group, window)
	if err != nil {
		return nil, translate(err)
	}
	return subscriber{s}, nil
}

func (d *driver) Declare(ctx context.Context, topics ...bus.Topic) error {
	for _, t := range topics {
		// Replication is the file system's business.
		err := d.hub.Declare(ctx, logsub.Spec{Name: t.Name, Partitions: t.Partitions, Retention: t.Retention, Groups: t.Groups})
		if err != nil {
			return translate(err)
		}
	}
	return nil
}

// Lag implements bus.Lagger. A partition's backlog is counted up to 10,000.
func (d *driver) Lag(ctx context.Context) ([]bus.Lag, error) {
	all, err := d.hub.Lag(ctx)
	if err != nil {
		return nil, translate(err)
	}
	out := make([]bus.Lag, len(all))
	for i, l := range all {
		out[i] = bus.Lag(l)
	}
	return out, nil
}

// Browse implements bus.Inspector.
func (d *driver) Browse(ctx context.Context, name string, limit int) ([]*message.Message, error) {
	topic, ok, err := d.hub.Topic(ctx, name)
	if err != nil || !ok || limit <= 0 {
		return nil, err
	}
	var found []sqllog.Entry
	for i := range topic.Partitions {
		entries, err := d.newest(ctx, topic.FirstLane+i, limit)
		if err != nil {
			return nil, fmt.Errorf("sqlitebus: browse %s: %w", name, err)
		}
		found = append(found, entries...)
	}
	slices.SortFunc(found, func(a, b sqllog.Entry) int { return int(a.ID - b.ID) })
	found = found[max(0, len(found)-limit):]
	out := make([]*message.Message, len(found))
	for i, e := range found {
		// Even without its metadata the message is worth showing.
		out[i], _ = logsub.Decode(e)
	}
	return out, nil
}

func (d *driver) newest(ctx context.Context, lane, limit int) ([]sqllog.Entry, error) {
	rows, err := d.reader.QueryContext(ctx, d.sql.browse, lane, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []sqllog.Entry
	for rows.Next() {
		var e sqllog.Entry
		if err := rows.Scan(&e.ID, &e.MessageID, &e.Headers, &e.Payload); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// Close ends subscribers and publisher, the work in the background, and the
// pools that Open opened.
func (d *driver) Close() error {
	d.closeOnce.Do(func() {
		err := d.hub.Close()
		d.stop()
		d.running.Wait()
		d.closeErr = translate(errors.Join(err, d.closePools()))
	})
	return d.closeErr
}

func (d *driver) closePools() error {
	var errs []error
	for _, db := range d.owned {
		errs = append(errs, db.Close())
	}
	d.owned = nil
	return errors.Join(errs...)
}

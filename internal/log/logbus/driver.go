package logbus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/onedb"
	"github.com/millrace-go/millrace/sqltx"
)

// Parts are the parts of a transport's package.
type Parts struct {
	// Name begins every error; it is the package's name.
	Name string
	// Log holds the messages.
	Log sqllog.Log
	// Files are the embedded files: the statements of the directory in sql, see the package's
	// doc, and the migrations of its tables in sql/schema.
	Files fs.FS
	// Dialect of the migrations, of package migrate.
	Dialect string
	// DB is the pool for publishing and for writes of the directory. Its first use migrates the
	// tables.
	DB *sql.DB
	// Reader is the pool for reads of the directory; DB when nil.
	Reader *sql.DB
	// App is the application's pool. Publish joins its transactions if the pool is on the same
	// database. It may be DB. Optional.
	App *sql.DB
	// Same is passed to [onedb.New]. It is not needed where App is nil or DB.
	Same func(ctx context.Context, db *sql.DB, app onedb.Querier) (bool, error)
	// Classify classifies the database driver's errors.
	Classify fault.Classifier
	// LeasesTogether is for a database whose writers are serialized, see [logsub.Backend];
	// Log.Lease then joins a transaction on DB.
	LeasesTogether bool
	// OneStatement reports that Log.Append is one statement for any number of entries.
	OneStatement bool
	// Wake tells other processes of changes, at most once a Tick; optional, see [logsub.Parts].
	Wake func(ctx context.Context, c logsub.Change) error
	Tick time.Duration
	// Watch wakes the hub for changes by other processes, until ctx is done.
	Watch func(ctx context.Context, hub *logsub.Hub)
	// Close closes the resources that the package opened; it closes DB by default.
	// [logsub.Driver.Close] calls it, and [Open] when it fails.
	Close func() error
}

// Driver is a transport on one database.
type Driver struct {
	*logsub.Driver

	parts Parts
	dir   *directory
	pools *onedb.Pools
}

// Open makes a Driver. It sends nothing to the database: the first use migrates the tables and
// starts the background work. See [logsub.Driver.Ready].
func Open(p Parts, cfg logsub.Config) (_ *Driver, err error) {
	d := &Driver{}
	if p.Close == nil {
		p.Close = func() error {
			p.DB.Close() //nolint:errcheck // its errors only report that an idle connection had died
			return nil
		}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if p.Reader == nil {
		p.Reader = p.DB
	}
	d.parts = p
	d.pools = onedb.New(p.DB, p.App, p.Same)
	statements, err := loadStatements(p.Files)
	if err != nil {
		return nil, err
	}
	d.dir = &directory{db: p.DB, reader: p.Reader, sql: statements}
	d.Driver, err = logsub.NewDriver(logsub.Parts{
		Name: p.Name, Config: cfg, Start: d.migrate, Watch: p.Watch, Wake: p.Wake, Tick: p.Tick, Ping: p.DB.PingContext, Newest: d.dir.newest, Close: p.Close,
		Prepare: func(ctx context.Context) error {
			if err := d.pools.Look(ctx); err != nil {
				return fmt.Errorf("compare Config.DB: %w", err)
			}
			return nil
		},
		Backend: logsub.Backend{
			Log: p.Log, Append: d.append, Directory: d.dir, Classify: p.Classify, Joins: d.pools.Joins, LeasesTogether: p.LeasesTogether,
			Begin: func(ctx context.Context, fn func(context.Context) error) error {
				return d.begin(ctx, func(ctx context.Context, _ *sql.Tx) error { return fn(ctx) })
			},
			// The directory uses DB, so only a transaction of DB can include it.
			TopicsStay: p.App != p.DB,
		},
	})
	return d, err
}

// migrate makes the tables.
func (d *Driver) migrate(ctx context.Context) error {
	schema, err := Migrations(d.parts.Log, d.parts.Files, d.parts.Dialect)
	if err != nil {
		return err
	}
	for _, set := range schema {
		if err := migrate.Set(set).Up(ctx, d.parts.DB); err != nil {
			return err
		}
	}
	return nil
}

// begin runs fn in the transaction of the context if it is on the same database, and otherwise
// in one of its own.
func (d *Driver) begin(ctx context.Context, fn func(context.Context, *sql.Tx) error) error {
	db := d.parts.DB
	if d.pools.Joins(ctx) {
		db = d.parts.App
	}
	return sqltx.Do(ctx, db, fn)
}

// append implements logsub.Backend.Append. One statement that commits on its own takes one round
// trip instead of three.
func (d *Driver) append(ctx context.Context, entries []log.Entry) error {
	if d.parts.OneStatement && !d.pools.Joins(ctx) {
		err := d.parts.Log.Append(ctx, d.parts.DB, entries)
		if !sqltx.IsConflict(err) { // after a conflict, a transaction is begun
			return err
		}
	}
	return d.begin(ctx, func(ctx context.Context, tx *sql.Tx) error { return d.parts.Log.Append(ctx, tx, entries) })
}

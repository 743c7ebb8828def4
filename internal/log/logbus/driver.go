package logbus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/lazy"
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
	// SQL has the statements of the directory; see the package's doc.
	SQL fs.FS
	// Schema is migrated on DB at the first use.
	Schema []migrate.Set
	// DB is the pool for publishing and for writes of the directory.
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
	// Announce tells other processes of changes; optional, see [logsub.Backend].
	Announce func(logsub.Change)
	// Watch wakes the hub for changes by other processes, until ctx is done.
	Watch func(ctx context.Context, hub *logsub.Hub)
	// Close closes the resources that the package opened. [Driver.Close] calls it, and [Open]
	// when it fails.
	Close func() error
}

// Driver is a transport on one database.
type Driver struct {
	logsub.Admin

	parts Parts
	hub   *logsub.Hub
	dir   *directory

	started *lazy.Value[context.CancelFunc] // ends the background work
	running sync.WaitGroup
	pools   *onedb.Pools

	closeOnce sync.Once
	closeErr  error
}

var (
	_ bus.Driver    = (*Driver)(nil)
	_ bus.Pinger    = (*Driver)(nil)
	_ bus.Lagger    = (*Driver)(nil)
	_ bus.Inspector = (*Driver)(nil)
	_ bus.Pender    = (*Driver)(nil)
)

// Open makes a Driver. It sends nothing to the database: the first use migrates the tables and
// starts the background work. See [Driver.Ready].
func Open(p Parts, cfg logsub.Config) (_ *Driver, err error) {
	d := &Driver{}
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
	statements, err := loadStatements(p.SQL)
	if err != nil {
		return nil, err
	}
	d.dir = &directory{db: p.DB, reader: p.Reader, sql: statements}
	d.hub, err = logsub.New(logsub.Backend{
		Log: p.Log, Append: d.append, Directory: d.dir, Announce: p.Announce, Classify: p.Classify, Joins: d.pools.Joins, LeasesTogether: p.LeasesTogether,
		Begin: func(ctx context.Context, fn func(context.Context) error) error {
			return d.begin(ctx, func(ctx context.Context, _ *sql.Tx) error { return fn(ctx) })
		},
		// The directory uses DB, so only a transaction of DB can include it.
		TopicsStay: p.App != p.DB,
	}, cfg)
	if err != nil {
		return nil, err
	}
	d.Admin = logsub.NewAdmin(d.hub, d.Ready, d.translate)
	d.started = lazy.New(logsub.ErrClosed, d.start)
	return d, nil
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

// start migrates the tables and begins the background work. It returns a function that ends that
// work.
func (d *Driver) start(ctx context.Context) (context.CancelFunc, error) {
	for _, set := range d.parts.Schema {
		if err := set.Up(ctx, d.parts.DB); err != nil {
			return nil, err
		}
	}
	run, stop := context.WithCancel(context.Background())
	d.running.Go(func() { d.hub.Run(run) }) //nolint:errcheck // it returns nil
	if d.parts.Watch != nil {
		d.running.Go(func() { d.parts.Watch(run, d.hub) })
	}
	return stop, nil
}

// Ready does the driver's work on the database before its first use, if it is not done.
// Concurrent callers share an attempt; after a failure the next call tries again.
func (d *Driver) Ready(ctx context.Context) error {
	return d.translate(d.ready(ctx))
}

func (d *Driver) ready(ctx context.Context) error {
	_, err := d.started.Get(ctx)
	return err
}

// Ping implements bus.Pinger.
func (d *Driver) Ping(ctx context.Context) error {
	return d.translate(d.parts.DB.PingContext(ctx))
}

// Capabilities implements bus.Driver.
func (d *Driver) Capabilities() bus.Capabilities {
	return bus.Capabilities{Durable: true, OrderedPerKey: true, ConsumerGroups: true, Replay: true, Broadcast: true}
}

// Publisher implements bus.Driver.
func (d *Driver) Publisher() message.Publisher { return publisher{d.hub.Publisher(), d} }

// Source implements bus.Driver.
func (d *Driver) Source(ctx context.Context, topic, group string, window int) (driver.Source, error) {
	if err := d.Ready(ctx); err != nil {
		return nil, err
	}
	s, err := d.hub.Source(ctx, topic, group, window)
	if err != nil {
		return nil, d.translate(err)
	}
	return source{s, d}, nil
}

// Declare implements bus.Driver. The database handles replication.
func (d *Driver) Declare(ctx context.Context, topics ...bus.Topic) error {
	if err := d.Ready(ctx); err != nil {
		return err
	}
	for _, t := range topics {
		err := d.hub.Declare(ctx, logsub.Spec{Name: t.Name, Partitions: t.Partitions, Retention: t.Retention, Groups: t.Groups})
		if err != nil {
			return d.translate(err)
		}
	}
	return nil
}

// Lag implements bus.Lagger. A partition's backlog is counted up to 10,000.
func (d *Driver) Lag(ctx context.Context) ([]bus.Lag, error) {
	if err := d.Ready(ctx); err != nil {
		return nil, err
	}
	all, err := d.hub.Lag(ctx)
	if err != nil {
		return nil, d.translate(err)
	}
	out := make([]bus.Lag, len(all))
	for i, l := range all {
		out[i] = bus.Lag(l)
	}
	return out, nil
}

// HasTopic implements bus.TopicFinder.
func (d *Driver) HasTopic(ctx context.Context, name string) (bool, error) {
	_, ok, err := d.topic(ctx, name)
	return ok, d.translate(err)
}

// topic finds a topic by its name.
func (d *Driver) topic(ctx context.Context, name string) (logsub.Topic, bool, error) {
	if err := d.ready(ctx); err != nil {
		return logsub.Topic{}, false, err
	}
	return d.hub.Topic(ctx, name)
}

// Topics implements bus.TopicFinder.
func (d *Driver) Topics(ctx context.Context) ([]string, error) {
	if err := d.Ready(ctx); err != nil {
		return nil, err
	}
	names, err := d.hub.Topics(ctx)
	return names, d.translate(err)
}

// Browse implements bus.Inspector.
func (d *Driver) Browse(ctx context.Context, name string, limit int) ([]*message.Message, error) {
	topic, ok, err := d.topic(ctx, name)
	if err != nil || !ok || limit <= 0 {
		return nil, d.translate(err)
	}
	var found []log.Entry
	for i := range topic.Partitions {
		entries, err := d.dir.newest(ctx, topic.FirstLane+i, limit)
		if err != nil {
			return nil, d.translate(fmt.Errorf("browse %s: %w", name, err))
		}
		found = append(found, entries...)
	}
	slices.SortFunc(found, func(a, b log.Entry) int { return int(a.ID - b.ID) })
	found = found[max(0, len(found)-limit):]
	out := make([]*message.Message, len(found))
	for i, e := range found {
		// The message is useful even without its metadata.
		out[i], _ = logsub.Decode(e)
	}
	return out, nil
}

// Close closes the subscribers, the publisher, the background work, and the resources of the
// transport's package.
func (d *Driver) Close() error {
	d.closeOnce.Do(func() {
		err := d.hub.Close()
		if stop, ok := d.started.Close(); ok {
			stop()
		}
		d.running.Wait()
		d.closeErr = d.translate(errors.Join(err, d.parts.Close()))
	})
	return d.closeErr
}

package txbus

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/watermillbus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/lazy"
	"github.com/millrace-go/millrace/internal/onedb"
)

// Parts are the parts of a transport's package.
type Parts struct {
	// Name begins every error; it is the package's name.
	Name string
	// Dialect is the database's SQL.
	Dialect Dialect
	// DB is the pool for publishing outside transactions, for making tables and for queries.
	DB *sql.DB
	// Deliveries is the pool for the transactions of messages: one connection for each consumer
	// at work. It must not wait for connections that are only returned by users of DB.
	Deliveries *sql.DB
	// App is the application's pool. If it is on the same database, which is checked at the
	// first use, it replaces Deliveries. Optional.
	App *sql.DB
	// Classify classifies the database driver's errors.
	Classify fault.Classifier
	// Poll is the longest interval at which an idle group polls; 200 ms by default.
	Poll time.Duration
	// Logger logs background errors.
	Logger *slog.Logger
	// Close closes the resources that the package opened. [Driver.Close] calls it.
	Close func() error
}

// Driver is Watermill SQL on one database.
type Driver struct {
	Parts
	pools   *onedb.Pools
	checked *lazy.Value[struct{}]
	known   topics

	mu          sync.Mutex
	closed      bool
	subscribers map[*subscriber]struct{}
	publishing  sync.WaitGroup

	closeOnce sync.Once
	closeErr  error
}

var (
	_ bus.Driver         = (*Driver)(nil)
	_ bus.Pinger         = (*Driver)(nil)
	_ bus.Lagger         = (*Driver)(nil)
	_ bus.Inspector      = (*Driver)(nil)
	_ bus.Pender         = (*Driver)(nil)
	_ bus.HandlerWrapper = (*Driver)(nil)
)

// Open makes a Driver. It sends nothing to the database: the first use checks for required
// features. Tables are made when topics are used.
func Open(p Parts) *Driver {
	if p.Poll == 0 {
		p.Poll = 200 * time.Millisecond
	}
	d := &Driver{
		Parts: p, pools: onedb.New(p.DB, p.App, p.Dialect.Same),
		known: topics{made: make(map[string]struct{})}, subscribers: make(map[*subscriber]struct{}),
	}
	d.checked = lazy.New(errClosed, func(ctx context.Context) (struct{}, error) { return struct{}{}, p.Dialect.Check(ctx, p.DB) })
	return d
}

// ready checks once whether the database has the required features.
func (d *Driver) ready(ctx context.Context) error {
	_, err := d.checked.Get(ctx)
	return err
}

// Ping implements bus.Pinger.
func (d *Driver) Ping(ctx context.Context) error {
	return d.translate(d.DB.PingContext(ctx))
}

// deliveries returns the pool for the transactions of messages.
func (d *Driver) deliveries(ctx context.Context) (*sql.DB, error) {
	together, err := d.pools.Together(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("compare Config.DB: %w", err)
	case together:
		return d.App, nil
	}
	return d.Deliveries, nil
}

// Capabilities implements bus.Driver.
func (d *Driver) Capabilities() bus.Capabilities {
	return bus.Capabilities{Durable: true, OrderedPerKey: true, ConsumerGroups: true, Replay: true, Broadcast: true, SerialGroups: true}
}

// Publisher implements bus.Driver.
func (d *Driver) Publisher() message.Publisher { return publisher{d} }

// Source implements bus.Driver.
func (d *Driver) Source(ctx context.Context, topic, group string, window int) (busdriver.Source, error) {
	s, err := d.Subscriber(group, window)
	if err != nil {
		return nil, err
	}
	return watermillbus.Source(ctx, s, topic)
}

// Subscriber implements bus.Driver. The window has no effect: a group handles one message at a
// time.
func (d *Driver) Subscriber(group string, _ int) (message.Subscriber, error) {
	if err := checkGroup(group); err != nil {
		return nil, d.translate(err)
	}
	s := &subscriber{driver: d, group: group, subs: make(map[*subscription]struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, d.translate(errClosed)
	}
	d.subscribers[s] = struct{}{}
	return s, nil
}

// Declare implements bus.Driver. A topic is one lane and is kept for ever, as in Watermill SQL,
// so partitions and retention have no effect.
func (d *Driver) Declare(ctx context.Context, topics ...bus.Topic) error {
	for _, t := range topics {
		if err := d.prepare(ctx, t.Name); err != nil {
			return d.translate(err)
		}
		for _, group := range t.Groups {
			if err := d.join(ctx, t.Name, group); err != nil {
				return d.translate(err)
			}
		}
	}
	return nil
}

// Close closes subscribers, publisher and pools.
func (d *Driver) Close() error {
	d.closeOnce.Do(func() {
		d.mu.Lock()
		d.closed = true
		subs := make([]*subscriber, 0, len(d.subscribers))
		for s := range d.subscribers {
			subs = append(subs, s)
		}
		d.mu.Unlock()
		var wg sync.WaitGroup
		for _, s := range subs {
			wg.Go(func() { s.Close() }) //nolint:errcheck // it returns nil
		}
		wg.Wait()
		d.checked.Close()
		d.publishing.Wait()
		d.closeErr = d.translate(d.Parts.Close())
	})
	return d.closeErr
}

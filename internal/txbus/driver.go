package txbus

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
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
	// [Driver.Close] closes it.
	DB *sql.DB
	// Pool opens a further pool on the database of URL, for the transactions of messages: each
	// holds a connection while its handler works, and must not take those of publishers.
	Pool func(url string) (*sql.DB, error)
	URL  string
	// App is the application's pool. If it is on the same database, which is checked at the
	// first use, it is used for the transactions of messages, too. Optional.
	App *sql.DB
	// Same is passed to [onedb.New].
	Same func(ctx context.Context, db *sql.DB, app onedb.Querier) (bool, error)
	// Classify classifies the database driver's errors.
	Classify fault.Classifier
	// Poll is the longest interval at which an idle group polls; 200 ms by default.
	Poll time.Duration
	// Logger logs background errors.
	Logger *slog.Logger
}

// Driver is Watermill SQL on one database.
type Driver struct {
	watermillbus.Driver
	Parts

	own     *sql.DB // opened by Parts.Pool
	pools   *onedb.Pools
	checked *lazy.Value[struct{}] // whether the database has the required features
	made    sync.Map              // the topics whose tables were made
}

var (
	_ driver.Driver         = (*Driver)(nil)
	_ driver.Pinger         = (*Driver)(nil)
	_ driver.Lagger         = (*Driver)(nil)
	_ driver.Inspector      = (*Driver)(nil)
	_ driver.Pender         = (*Driver)(nil)
	_ driver.HandlerWrapper = (*Driver)(nil)
)

// Open makes a Driver. It sends nothing to the database: the first use checks for required
// features. Tables are made when topics are used.
func Open(p Parts) (driver.Driver, error) {
	own, err := p.Pool(p.URL)
	if err != nil {
		return nil, errors.Join(err, p.DB.Close())
	}
	own.SetMaxOpenConns(0) // there are no more than consumers
	p.Poll = cmp.Or(p.Poll, 200*time.Millisecond)
	d := &Driver{Parts: p, own: own, pools: onedb.New(p.DB, p.App, p.Same)}
	d.checked = lazy.New(fmt.Errorf("%s: %w", p.Name, bus.ErrClosed), func(ctx context.Context) (struct{}, error) {
		if err := p.DB.PingContext(ctx); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, p.Dialect.Check(ctx, p.DB)
	})
	d.Driver, err = watermillbus.New(watermillbus.Config{
		Publisher:    func(context.Context) (message.Publisher, error) { return publisher{d}, nil },
		Subscriber:   d.subscriber,
		Capabilities: driver.Capabilities{Durable: true, OrderedPerKey: true, ConsumerGroups: true, Replay: true, Broadcast: true, SerialGroups: true},
		Declare:      d.declare,
		Ping:         p.DB.PingContext,
		Classify:     p.Classify,
		Close:        d.shut,
	})
	if err != nil {
		return nil, errors.Join(err, d.shut())
	}
	return d, nil
}

// shut closes the pools. Their errors only report that an idle connection had died.
func (d *Driver) shut() error {
	d.checked.Close()
	d.own.Close() //nolint:errcheck // see above
	d.DB.Close()  //nolint:errcheck // see above
	return nil
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
	return d.own, nil
}

// Publisher implements driver.Driver. A call of Publish publishes all of its messages or none,
// which the publisher of package watermillbus does not.
func (d *Driver) Publisher() message.Publisher { return publisher{d} }

// declare makes a topic and its groups. A topic is one lane and is kept for ever, as in
// Watermill SQL, so partitions and retention have no effect.
func (d *Driver) declare(ctx context.Context, t bus.Topic) error {
	if err := d.prepare(ctx, t.Name); err != nil {
		return err
	}
	for _, group := range t.Groups {
		if err := d.join(ctx, t.Name, group); err != nil {
			return err
		}
	}
	return nil
}

// translate gives an error the package's name, and the class that the database's driver knows.
func (d *Driver) translate(err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", d.Name, err)
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.MarkInfrastructure(err)
	}
	return fault.Mark(err, d.Classify)
}

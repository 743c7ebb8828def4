package txbus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

// Parts is what a transport's package gives.
type Parts struct {
	// Name begins every error; the package's own.
	Name string
	// Dialect is the database's SQL.
	Dialect Dialect
	// DB publishes what is in no transaction, makes tables and looks at them.
	DB *sql.DB
	// Deliveries is the pool whose transactions messages come in: one connection
	// for each consumer at work. It must not wait for connections that only
	// those who use DB give back.
	Deliveries *sql.DB
	// App is the application's pool. Where it turns out to be on the same
	// database it takes the place of Deliveries. Optional.
	App *sql.DB
	// Classify judges the database driver's errors.
	Classify fault.Classifier
	// Poll is how often an idle group looks at most; 200 ms by default.
	Poll time.Duration
	// Logger hears of trouble in the background.
	Logger *slog.Logger
	// Close ends what the package opened for all this. It is called by
	// [Driver.Close], and by [Open] when that fails.
	Close func() error
}

// Driver is Watermill SQL on one database.
type Driver struct {
	Parts
	known topics

	mu          sync.Mutex
	closed      bool
	subscribers map[*subscriber]struct{}
	publishing  sync.WaitGroup

	closeOnce sync.Once
	closeErr  error
}

var (
	_ bus.Driver         = (*Driver)(nil)
	_ bus.Lagger         = (*Driver)(nil)
	_ bus.Inspector      = (*Driver)(nil)
	_ bus.Pender         = (*Driver)(nil)
	_ bus.HandlerWrapper = (*Driver)(nil)
)

// Open looks at the database; it makes tables as topics are used.
func Open(ctx context.Context, p Parts) (_ *Driver, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if p.Poll == 0 {
		p.Poll = 200 * time.Millisecond
	}
	if err := p.Dialect.Check(ctx, p.DB); err != nil {
		return nil, err
	}
	if p.App != nil {
		same, err := p.Dialect.Same(ctx, p.DB, p.App)
		if err != nil {
			return nil, fmt.Errorf("%s: compare Config.DB: %w", p.Name, err)
		}
		if same {
			p.Deliveries = p.App
		}
	}
	d := &Driver{Parts: p, known: topics{made: make(map[string]struct{})}, subscribers: make(map[*subscriber]struct{})}
	return d, nil
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
	return bus.Subscribed(ctx, s, topic)
}

// Subscriber implements bus.Driver. The window has no meaning: a group handles
// one message at a time.
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

// Declare implements bus.Driver. A topic is one lane and is kept for ever, as
// Watermill SQL keeps it, so partitions and retention have no meaning here.
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

// Close ends subscribers, publisher and pools.
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
		d.publishing.Wait()
		d.closeErr = d.translate(d.Parts.Close())
	})
	return d.closeErr
}

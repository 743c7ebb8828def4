package logsub

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/lazy"
	"github.com/millrace-go/millrace/internal/log"
)

// Parts are the parts of a transport in a [Driver].
type Parts struct {
	// Name begins every error; it is the package's name.
	Name    string
	Backend Backend
	Config  Config
	// Start prepares the server before its first use: it migrates tables, or checks a version.
	// Optional.
	Start func(ctx context.Context) error
	// Watch wakes the hub for changes by other processes, until ctx is done. Optional.
	Watch func(ctx context.Context, hub *Hub)
	// Follow begins to wake the hub for a topic, before it is read here for the first time.
	// Optional.
	Follow func(ctx context.Context, hub *Hub, topic string) error
	// Wake tells other processes of changes, at most once a Tick: of a burst, the first change at
	// once. It takes the place of Backend.Announce. Optional.
	Wake func(ctx context.Context, c Change) error
	Tick time.Duration
	// Ping checks that the server answers. It makes no tables: Start comes before it only if
	// PingStarts, for a server that is connected by Start.
	Ping       func(ctx context.Context) error
	PingStarts bool
	// Prepare is called before each Publish with the context of its first message. Optional.
	Prepare func(ctx context.Context) error
	// Newest returns the newest entries of a partition, in any order: at least limit if there are as
	// many.
	Newest func(ctx context.Context, lane, limit int) ([]log.Entry, error)
	// Ahead returns up to limit entries of a partition that a group has not acknowledged. By
	// default they are read from the position of [Places].
	Ahead func(ctx context.Context, c log.Cursor, limit int) ([]log.Entry, error)
	// Close closes the resources that the transport's package opened. [Driver.Close] calls it.
	Close func() error
}

// Driver is a driver.Driver on a log.
type Driver struct {
	parts   Parts
	hub     *Hub
	bell    *Bell                           // nil without Wake
	started *lazy.Value[context.CancelFunc] // ends the background work
	running sync.WaitGroup

	mu       sync.Mutex
	followed map[string]bool // topics

	closeOnce sync.Once
	closeErr  error
}

var (
	_ driver.Driver        = (*Driver)(nil)
	_ driver.Pinger        = (*Driver)(nil)
	_ driver.Lagger        = (*Driver)(nil)
	_ driver.TopicFinder   = (*Driver)(nil)
	_ driver.GroupAdmin    = (*Driver)(nil)
	_ driver.GroupResetter = (*Driver)(nil)
	_ driver.Reader        = (*Driver)(nil)
	_ driver.Inspector     = (*Driver)(nil)
	_ driver.Pender        = (*Driver)(nil)
)

// NewDriver makes a Driver. It sends nothing to the server: the first use starts the background
// work. See [Driver.Ready].
func NewDriver(p Parts) (*Driver, error) {
	d := &Driver{followed: make(map[string]bool)}
	if p.Wake != nil {
		d.bell = NewBell(p.Tick, p.Wake)
		p.Backend.Announce = d.bell.Ring
	}
	d.parts = p
	var err error
	if d.hub, err = New(p.Backend, p.Config); err != nil {
		return nil, err
	}
	d.started = lazy.New(ErrClosed, d.start)
	return d, nil
}

// start returns a function that ends the background work.
func (d *Driver) start(ctx context.Context) (context.CancelFunc, error) {
	if d.parts.Start != nil {
		if err := d.parts.Start(ctx); err != nil {
			return nil, err
		}
	}
	run, stop := context.WithCancel(context.Background())
	d.running.Go(func() { d.hub.Run(run) }) //nolint:errcheck // it returns nil
	if d.bell != nil {
		d.running.Go(func() { d.bell.Run(run, d.hub.cfg.Logger) })
	}
	if d.parts.Watch != nil {
		d.running.Go(func() { d.parts.Watch(run, d.hub) })
	}
	return stop, nil
}

// Ready does the driver's work on the server before its first use, if it is not done. Concurrent
// callers share an attempt; after a failure the next call tries again.
func (d *Driver) Ready(ctx context.Context) error {
	_, err := d.started.Get(ctx)
	return d.Translate(err)
}

// Translate gives an error the package's name, the class that the backend knows, and the
// sentinels of package bus.
func (d *Driver) Translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrClosed):
		return fmt.Errorf("%s: %w", d.parts.Name, bus.ErrClosed)
	}
	classifiers := append([]fault.Classifier{late}, d.parts.Backend.classifiers()...)
	return fault.Mark(fmt.Errorf("%s: %w", d.parts.Name, err), classifiers...)
}

// late classifies the end of a time limit: the server, or a connection of the pool, was not
// available in time.
func late(err error) fault.Class {
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.Infrastructure
	}
	return fault.Unclassified
}

// Ping implements driver.Pinger.
func (d *Driver) Ping(ctx context.Context) error {
	if d.parts.PingStarts {
		if err := d.Ready(ctx); err != nil {
			return err
		}
	}
	return d.Translate(d.parts.Ping(ctx))
}

// Capabilities implements driver.Driver.
func (*Driver) Capabilities() driver.Capabilities {
	return driver.Capabilities{Durable: true, OrderedPerKey: true, ConsumerGroups: true, Replay: true, Broadcast: true}
}

// Publisher implements driver.Driver.
func (d *Driver) Publisher() message.Publisher { return publisher{d.hub.Publisher(), d} }

// publisher is the hub's, which the driver prepares.
type publisher struct {
	*Publisher
	driver *Driver
}

func (p publisher) Publish(topic string, messages ...*message.Message) error {
	if len(messages) > 0 {
		if err := p.driver.prepare(messages[0].Context()); err != nil {
			return p.driver.Translate(driver.Failed(topic, len(messages), messages[0].UUID, driver.NotSent, err))
		}
	}
	return p.driver.Translate(p.Publisher.Publish(topic, messages...))
}

// prepareTimeout bounds the preparation of the first Publish.
const prepareTimeout = 30 * time.Second

// prepare does the work that has to be done before a message with the context is published.
func (d *Driver) prepare(ctx context.Context) error {
	if _, done := d.started.Made(); !done {
		bounded, cancel := context.WithTimeout(ctx, prepareTimeout)
		defer cancel()
		if _, err := d.started.Get(bounded); err != nil {
			return err
		}
	}
	if d.parts.Prepare == nil {
		return nil
	}
	return d.parts.Prepare(ctx)
}

// Source implements driver.Driver.
func (d *Driver) Source(ctx context.Context, topic, group string, window int) (driver.Source, error) {
	if err := d.Ready(ctx); err != nil {
		return nil, err
	}
	if err := d.follow(ctx, topic); err != nil {
		return nil, d.Translate(err)
	}
	s, err := d.hub.Source(ctx, topic, group, window)
	if err != nil {
		return nil, d.Translate(err)
	}
	return translated{s, d}, nil
}

func (d *Driver) follow(ctx context.Context, topic string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.parts.Follow == nil || d.followed[topic] {
		return nil
	}
	err := d.parts.Follow(ctx, d.hub, topic)
	d.followed[topic] = err == nil
	return err
}

// translated is a source whose errors are the driver's.
type translated struct {
	*Source
	driver *Driver
}

func (s translated) Close() error { return s.driver.Translate(s.Source.Close()) }

// Close closes the publisher, the background work, and the resources of the transport's package.
func (d *Driver) Close() error {
	d.closeOnce.Do(func() {
		err := d.hub.Close()
		if stop, ok := d.started.Close(); ok {
			stop()
		}
		d.running.Wait()
		if d.parts.Close != nil {
			err = errors.Join(err, d.parts.Close())
		}
		d.closeErr = d.Translate(err)
	})
	return d.closeErr
}

package watermillbus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/lazy"
	"github.com/millrace-go/millrace/internal/parallel"
	"github.com/millrace-go/millrace/internal/wmsource"
)

// Driver is a Watermill Pub/Sub behind a [bus.Bus], as [New] returns it. A transport with more
// abilities, such as listing topics, embeds it. The error of Ping is errors.ErrUnsupported
// without Config.Ping.
type Driver interface {
	driver.Driver
	driver.Pinger
}

type adapter struct {
	cfg       Config
	publisher *lazy.Value[message.Publisher]

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup // of the Pub/Sub's functions, also those whose callers no longer wait
	open   map[*owned]struct{}

	closeOnce sync.Once
	closeErr  error
}

var errClosed = fmt.Errorf("watermillbus: %w", bus.ErrClosed)

// New makes a Driver. It calls none of the functions.
func New(cfg Config) (Driver, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("watermillbus: %w", err)
	}
	return &adapter{cfg: cfg, publisher: lazy.New(errClosed, cfg.Publisher), open: map[*owned]struct{}{}}, nil
}

// Capabilities implements driver.Driver.
func (d *adapter) Capabilities() driver.Capabilities { return d.cfg.Capabilities }

// Publisher implements driver.Driver.
func (d *adapter) Publisher() message.Publisher { return publisher{d} }

// Source implements driver.Driver. The window is the Pub/Sub's own.
func (d *adapter) Source(ctx context.Context, topic, group string, _ int) (driver.Source, error) {
	source, err := call(ctx, d, func(ctx context.Context) (driver.Source, error) {
		subscriber, err := d.cfg.Subscriber(ctx, group)
		if err != nil {
			return nil, err
		}
		return wmsource.Own(ctx, subscriber, topic)
	}, func(s driver.Source) { s.Close() }) //nolint:errcheck // no caller waits for it
	if err != nil {
		return nil, d.judge(fmt.Errorf("subscribe to %s in %s: %w", topic, group, err))
	}
	return d.own(source)
}

// Declare implements driver.Driver.
func (d *adapter) Declare(ctx context.Context, topics ...bus.Topic) error {
	declare := d.cfg.Declare
	if declare == nil {
		declare = d.initialize
	}
	for _, t := range topics {
		_, err := call(ctx, d, func(ctx context.Context) (none struct{}, err error) { return none, declare(ctx, t) }, nil)
		if err != nil {
			return d.judge(fmt.Errorf("declare %s: %w", t.Name, err))
		}
	}
	return nil
}

// initialize is the default of Config.Declare.
func (d *adapter) initialize(ctx context.Context, t bus.Topic) error {
	for _, group := range t.Groups {
		subscriber, err := d.cfg.Subscriber(ctx, group)
		if err != nil {
			return err
		}
		if i, ok := subscriber.(message.SubscribeInitializer); ok {
			err = i.SubscribeInitialize(t.Name)
		}
		if err = errors.Join(err, subscriber.Close()); err != nil {
			return fmt.Errorf("group %s: %w", group, err)
		}
	}
	return nil
}

// Ping implements driver.Pinger. The error is errors.ErrUnsupported without Config.Ping.
func (d *adapter) Ping(ctx context.Context) error {
	if d.cfg.Ping == nil {
		return errors.ErrUnsupported
	}
	_, err := call(ctx, d, func(ctx context.Context) (none struct{}, err error) { return none, d.cfg.Ping(ctx) }, nil)
	return d.judge(err)
}

// Close ends subscriptions, waits for the calls under way, and closes the publisher and the
// resources that the functions share.
func (d *adapter) Close() error {
	d.closeOnce.Do(func() {
		d.mu.Lock()
		d.closed = true
		open := slices.Collect(maps.Keys(d.open))
		d.mu.Unlock()
		errs := []error{parallel.Each(open, (*owned).Close)}
		d.calls.Wait()
		if p, ok := d.publisher.Close(); ok {
			errs = append(errs, p.Close())
		}
		if d.cfg.Close != nil {
			errs = append(errs, d.cfg.Close())
		}
		d.closeErr = d.judge(errors.Join(errs...))
	})
	return d.closeErr
}

// judge classifies an error of the Pub/Sub.
func (d *adapter) judge(err error) error {
	if err == nil || errors.Is(err, bus.ErrClosed) || errors.Is(err, context.Canceled) {
		return err
	}
	err = fmt.Errorf("watermillbus: %w", err)
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.MarkInfrastructure(err)
	}
	if d.cfg.Classify != nil {
		err = fault.Mark(err, d.cfg.Classify)
	}
	return fault.Mark(err, func(error) fault.Class { return fault.Infrastructure })
}

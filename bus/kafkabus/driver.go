package kafkabus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/lazy"
)

// driver is the bus on one cluster.
type driver struct {
	set       settings
	producing sarama.Client // of the publisher alone, so that nothing delays it
	connected *lazy.Value[struct{}]
	asking    sarama.Client // topics, lag, browsing; inside of call only
	admin     sarama.ClusterAdmin
	topics    *topics
	publisher *publisher

	mu        sync.Mutex
	closed    bool
	sources   map[*source]struct{}
	groups    map[string]map[string]struct{} // topic → groups that this process knows
	instances map[string]bool                // static names in use
	calls     sync.WaitGroup                 // of call

	closeOnce sync.Once
	closeErr  error
}

var (
	_ bus.Driver    = (*driver)(nil)
	_ bus.Pinger    = (*driver)(nil)
	_ bus.Lagger    = (*driver)(nil)
	_ bus.Inspector = (*driver)(nil)
	_ bus.Pender    = (*driver)(nil)
)

// open makes a driver. Its clients connect at the first use.
func open(set settings) (*driver, error) {
	d := &driver{
		set: set, sources: map[*source]struct{}{},
		groups: map[string]map[string]struct{}{}, instances: map[string]bool{},
	}
	if set.security.exposed() {
		set.Logger.Warn("kafkabus: the password is sent unencrypted; use tls=true or a scram mechanism")
	}
	c, err := set.client()
	if err != nil {
		return nil, err
	}
	// Without Metadata.Full it does not connect before it is asked for something.
	if d.producing, err = sarama.NewClient(set.brokers, c); err != nil {
		return nil, wrap(err, "make a client")
	}
	d.connected = lazy.New(bus.ErrClosed, d.connect)
	d.topics = newTopics(d)
	d.publisher = newPublisher(d.producing, d.topics, set)
	return d, nil
}

// connect makes the client that asks.
func (d *driver) connect(ctx context.Context) (none struct{}, err error) {
	c, err := d.set.client()
	if err != nil {
		return none, err
	}
	c.Metadata.Full = true // only with it sarama's administrative calls find the controller
	asking, err := dial(ctx, d.set.brokers, c)
	if err != nil {
		return none, fmt.Errorf("connect to %s: %w", strings.Join(d.set.brokers, ","), err)
	}
	admin, err := sarama.NewClusterAdminFromClient(asking)
	if err != nil {
		return none, errors.Join(err, asking.Close())
	}
	d.asking, d.admin = asking, admin
	return none, nil
}

// Ping implements bus.Pinger.
func (d *driver) Ping(ctx context.Context) error {
	return wrap(d.call(ctx, func() error {
		_, _, err := d.admin.DescribeCluster()
		return err
	}), "ping")
}

func (d *driver) Capabilities() bus.Capabilities {
	return bus.Capabilities{Durable: true, OrderedPerKey: true, ConsumerGroups: true, Replay: true, Broadcast: true}
}

func (d *driver) Publisher() message.Publisher { return d.publisher }

var errClosed = fmt.Errorf("kafkabus: %w", bus.ErrClosed)

// call connects, if that has not been done, and runs fn, which knows no context. It stops
// waiting for it when ctx ends. Every request has a time limit, so it ends by itself soon
// after.
func (d *driver) call(ctx context.Context, fn func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := d.connected.Get(ctx); err != nil {
		return err
	}
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return bus.ErrClosed
	}
	done := make(chan error, 1)
	d.calls.Go(func() { done <- fn() })
	d.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// know remembers a group for Lag.
func (d *driver) know(topic string, groups ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.knowLocked(topic, groups...)
}

func (d *driver) knowLocked(topic string, groups ...string) {
	if d.groups[topic] == nil {
		d.groups[topic] = map[string]struct{}{}
	}
	for _, g := range groups {
		d.groups[topic][g] = struct{}{}
	}
}

// instance returns the static name of a new member, which must be unique in the
// group and the same after a restart, and a function that gives it up.
func (d *driver) instance(group string) (name string, free func()) {
	if d.set.Instance == "" {
		return "", func() {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := 1; ; n++ {
		name, taken := fmt.Sprintf("%s-%d", d.set.Instance, n), ""
		if taken = group + "\x00" + name; !d.instances[taken] {
			d.instances[taken] = true
			return name, func() {
				d.mu.Lock()
				delete(d.instances, taken)
				d.mu.Unlock()
			}
		}
	}
}

// Close ends sources, the publisher, and then the connections.
func (d *driver) Close() error {
	d.closeOnce.Do(func() {
		d.mu.Lock()
		d.closed = true
		var open []*source
		for s := range d.sources {
			open = append(open, s)
		}
		d.mu.Unlock()
		d.connected.Close() // nobody waits for the cluster any more
		errs := make([]error, len(open))
		var wg sync.WaitGroup
		for i, s := range open {
			wg.Go(func() { errs[i] = s.Close() })
		}
		wg.Wait()
		errs = append(errs, d.publisher.Close(), d.closeClients())
		d.calls.Wait()
		d.closeErr = errors.Join(errs...)
	})
	return d.closeErr
}

func (d *driver) closeClients() error {
	var errs []error
	for _, c := range []sarama.Client{d.producing, d.asking} {
		if c == nil || c.Closed() {
			continue
		}
		if err := c.Close(); err != nil {
			errs = append(errs, fmt.Errorf("kafkabus: close the connections: %w", err))
		}
	}
	return errors.Join(errs...)
}

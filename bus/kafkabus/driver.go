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
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/lazy"
)

// driver is the bus on one cluster.
type driver struct {
	set       settings
	connected *lazy.Value[struct{}]
	asking    sarama.Client // topics, lag, browsing; inside of call only
	admin     sarama.ClusterAdmin
	topics    *topics
	publisher *publisher

	mu          sync.Mutex
	closed      bool
	subscribers map[*subscriber]struct{}
	groups      map[string]map[string]struct{} // topic → groups that this process knows
	instances   map[string]bool                // static names in use
	calls       sync.WaitGroup                 // of call

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
		set: set, subscribers: map[*subscriber]struct{}{},
		groups: map[string]map[string]struct{}{}, instances: map[string]bool{},
	}
	if set.security.exposed() {
		set.Logger.Warn("kafkabus: the password is sent unencrypted; use tls=true or a scram mechanism")
	}
	d.connected = lazy.New(bus.ErrClosed, d.connect)
	d.topics = newTopics(d)
	var err error
	if d.publisher, err = newPublisher(d.topics, set); err != nil {
		return nil, wrap(err, "make a client")
	}
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

// Source implements bus.Driver.
func (d *driver) Source(ctx context.Context, topic, group string, window int) (busdriver.Source, error) {
	s, err := d.Subscriber(group, window)
	if err != nil {
		return nil, err
	}
	return bus.Subscribed(ctx, s, topic)
}

func (d *driver) Subscriber(group string, window int) (message.Subscriber, error) {
	switch {
	case group == "":
		return nil, errors.New("kafkabus: the group has no name")
	case window < 1:
		return nil, fmt.Errorf("kafkabus: the window of group %s is %d; give at least 1", group, window)
	}
	if d.set.Window > 0 {
		window = min(window, d.set.Window)
	}
	s := &subscriber{driver: d, group: group, window: window, subs: map[*subscription]struct{}{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClosed
	}
	d.subscribers[s] = struct{}{}
	return s, nil
}

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
	if d.groups[topic] == nil {
		d.groups[topic] = map[string]struct{}{}
	}
	for _, g := range groups {
		d.groups[topic][g] = struct{}{}
	}
}

// Close ends subscribers, the publisher, and then the connections.
func (d *driver) Close() error {
	d.closeOnce.Do(func() {
		d.mu.Lock()
		d.closed = true
		var open []*subscriber
		for s := range d.subscribers {
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
		errs = append(errs, d.publisher.Close(), d.closeClient())
		d.calls.Wait()
		d.closeErr = errors.Join(errs...)
	})
	return d.closeErr
}

func (d *driver) closeClient() error {
	if d.asking == nil || d.asking.Closed() {
		return nil
	}
	if err := d.asking.Close(); err != nil {
		return fmt.Errorf("kafkabus: close the connections: %w", err)
	}
	return nil
}

package kafkabus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
)

// driver is the bus on one cluster.
type driver struct {
	set       settings
	producing sarama.Client // of the publisher alone, so that nothing delays it
	client    *kgo.Client   // topics, offsets, lag, browsing; inside of request only
	admin     *kadm.Client  // of client
	topics    *topics
	publisher *publisher

	mu          sync.Mutex
	closed      bool
	ended       bool           // no request may begin
	calls       sync.WaitGroup // of request
	subscribers map[*subscriber]struct{}
	groups      map[string]map[string]struct{} // topic → groups that this process knows
	instances   map[string]bool                // static names in use

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
func open(set settings) (_ *driver, err error) {
	d := &driver{
		set: set, subscribers: map[*subscriber]struct{}{},
		groups: map[string]map[string]struct{}{}, instances: map[string]bool{},
	}
	if warning := set.security.exposed(); warning != "" {
		set.Logger.Warn("kafkabus: " + warning)
	}
	options, err := set.options()
	if err != nil {
		return nil, err
	}
	if d.client, err = kgo.NewClient(options...); err != nil {
		return nil, wrap(err, "make a client")
	}
	defer func() {
		if err != nil {
			d.client.Close()
		}
	}()
	d.admin = kadm.NewClient(d.client)
	d.admin.SetTimeoutMillis(int32(requestTimeout.Milliseconds()))
	c, err := set.client()
	if err != nil {
		return nil, err
	}
	// Without Metadata.Full it does not connect before it is asked for something.
	if d.producing, err = sarama.NewClient(set.brokers, c); err != nil {
		return nil, wrap(err, "make a client")
	}
	d.topics = newTopics(d)
	d.publisher = newPublisher(d.producing, d.topics, set)
	return d, nil
}

// Ping implements bus.Pinger. It asks each broker once until one answers.
func (d *driver) Ping(ctx context.Context) error {
	_, err := request(ctx, d, func(ctx context.Context) (_ kmsg.Response, err error) {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{} // none
		for _, b := range append(d.client.DiscoveredBrokers(), d.client.SeedBrokers()...) {
			var answer kmsg.Response
			if answer, err = b.Request(ctx, req); kgo.IsRetryableBrokerErr(err) { // an old connection that was closed
				answer, err = b.Request(ctx, req)
			}
			if err == nil || ctx.Err() != nil {
				return answer, err
			}
		}
		return nil, err
	})
	return wrap(err, "ping %s", strings.Join(d.set.brokers, ","))
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

// Close ends subscribers, questions to the cluster, the publisher, and then the connections.
func (d *driver) Close() error {
	d.closeOnce.Do(func() {
		d.mu.Lock()
		d.closed = true
		var open []*subscriber
		for s := range d.subscribers {
			open = append(open, s)
		}
		d.mu.Unlock()
		errs := make([]error, len(open))
		var wg sync.WaitGroup
		for i, s := range open {
			wg.Go(func() { errs[i] = s.Close() })
		}
		wg.Wait()
		// Calls of Publish that still look for their topic end with this client.
		d.mu.Lock()
		d.ended = true
		d.mu.Unlock()
		d.client.Close()
		d.calls.Wait()
		errs = append(errs, d.publisher.Close())
		if err := d.producing.Close(); err != nil {
			errs = append(errs, fmt.Errorf("kafkabus: close the connections: %w", err))
		}
		d.closeErr = errors.Join(errs...)
	})
	return d.closeErr
}

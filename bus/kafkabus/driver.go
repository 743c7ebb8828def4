package kafkabus

import (
	"context"
	"fmt"
	"strings"
	"sync"

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
	client    *kgo.Client  // topics, offsets, lag, browsing; only inside request
	admin     *kadm.Client // of client
	topics    *topics
	publisher *publisher

	groups sync.Map // of groupID: those that this process knows

	mu        sync.Mutex
	closed    bool            // no request may begin
	calls     sync.WaitGroup  // of request
	instances map[string]bool // static names in use

	closeOnce sync.Once
}

var (
	_ busdriver.Driver        = (*driver)(nil)
	_ busdriver.Pinger        = (*driver)(nil)
	_ busdriver.Lagger        = (*driver)(nil)
	_ busdriver.Inspector     = (*driver)(nil)
	_ busdriver.Pender        = (*driver)(nil)
	_ busdriver.GroupAdmin    = (*driver)(nil)
	_ busdriver.GroupResetter = (*driver)(nil)
	_ busdriver.Reader        = (*driver)(nil)
)

// open makes a driver. Its clients connect at the first use.
func open(set settings) (_ *driver, err error) {
	d := &driver{set: set, instances: map[string]bool{}}
	if warning := set.security.exposed(); warning != "" {
		set.Logger.Warn("kafkabus: " + warning)
	}
	if d.client, err = kgo.NewClient(set.options()...); err != nil {
		return nil, wrap(err, "make a client")
	}
	defer func() {
		if err != nil {
			d.client.Close()
		}
	}()
	d.admin = kadm.NewClient(d.client)
	d.admin.SetTimeoutMillis(int32(requestTimeout.Milliseconds()))
	d.topics = &topics{d: d}
	if d.publisher, err = newPublisher(d.topics, set); err != nil {
		return nil, wrap(err, "make a client")
	}
	return d, nil
}

// Ping implements driver.Pinger. It asks each broker once until one answers.
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

func (d *driver) Capabilities() busdriver.Capabilities {
	return busdriver.Capabilities{Durable: true, OrderedPerKey: true, ConsumerGroups: true, Replay: true, Broadcast: true}
}

func (d *driver) Publisher() message.Publisher { return d.publisher }

var errClosed = fmt.Errorf("kafkabus: %w", bus.ErrClosed)

// instance returns the static name of a new member, which must be unique in the group and
// the same after a restart, and a function that frees the name.
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

// Close ends requests to the cluster, the publisher, and then the connections.
func (d *driver) Close() error {
	d.closeOnce.Do(func() {
		// Calls of Publish that still look for their topic end with this client.
		d.mu.Lock()
		d.closed = true
		d.mu.Unlock()
		d.client.Close()
	})
	d.calls.Wait()
	return d.publisher.Close()
}

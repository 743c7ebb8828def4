package amqpbus

import (
	"context"
	"errors"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
)

// driver is a bus on one vhost. It publishes on one connection and does everything else on
// another, because the broker slows down a whole connection when its publishers are too fast.
type driver struct {
	cfg       Config
	consuming *link
	topology  *topology
	publisher *publisher

	open sync.Map // of *source, for Lag

	closeOnce sync.Once
	closeErr  error
}

var (
	_ busdriver.Driver     = (*driver)(nil)
	_ busdriver.Pinger     = (*driver)(nil)
	_ busdriver.Lagger     = (*driver)(nil)
	_ busdriver.Inspector  = (*driver)(nil)
	_ busdriver.Pender     = (*driver)(nil)
	_ busdriver.GroupAdmin = (*driver)(nil)
)

// open makes a driver. Its links connect at the first use.
func open(to endpoint, cfg Config) *driver {
	made := func(conn *amqp.Connection) error { return exchange(conn, cfg.Prefix+cfg.Exchange) }
	d := &driver{cfg: cfg}
	d.consuming = newLink("millrace consuming", to, cfg, made)
	d.topology = newTopology(d.consuming, cfg)
	d.publisher = newPublisher(newLink("millrace publishing", to, cfg, made), cfg, d.topology.names)
	return d
}

// Ping implements driver.Pinger: it opens a channel.
func (d *driver) Ping(ctx context.Context) error {
	_, err := within(ctx, func() (*amqp.Channel, error) {
		a := &admin{ctx: ctx, link: d.consuming}
		defer a.close()
		return a.channel()
	})
	return translate("ping", err)
}

func (d *driver) Capabilities() busdriver.Capabilities {
	return busdriver.Capabilities{Durable: true, OrderedPerKey: true, ConsumerGroups: true, Broadcast: true, IndividualAcks: true}
}

func (d *driver) Publisher() message.Publisher { return shared{d.publisher} }

// shared is the publisher for users: its Close does not close the shared publisher.
type shared struct{ *publisher }

func (shared) Close() error { return nil }

// Declare creates the queues of the topics' groups and binds them. A topic without groups
// gets a queue for bus/driver.RedriveGroup, which holds the messages that no group accepts.
// Retention applies to that queue only, which drops older messages; the other queues keep
// their messages until they are consumed. Replication is set by the cluster.
func (d *driver) Declare(ctx context.Context, topics ...bus.Topic) error {
	_, err := within(ctx, func() (none struct{}, err error) {
		for _, t := range topics {
			if err := d.topology.declare(ctx, t); err != nil {
				return none, err
			}
		}
		return none, nil
	})
	return translate("declare", err)
}

// Close ends publisher and connections.
func (d *driver) Close() error {
	d.closeOnce.Do(func() { d.closeErr = translate("close", errors.Join(d.publisher.Close(), d.consuming.close())) })
	return d.closeErr
}

package amqpwatermill

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wmamqp "github.com/ThreeDotsLabs/watermill-amqp/v2/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/watermillbus"
)

// Config is the configuration of the mode. The zero value works.
type Config struct {
	// QueueName names the queue of a group; topic_group by default.
	QueueName func(topic, group string) string
	// Adapter changes the settings of Watermill's publisher and subscribers, such as the
	// exchange, the arguments of queues or the marshaler. It comes last, so it can break
	// the mode's guarantees: durable queues, persistent messages, confirmations.
	Adapter func(*wmamqp.Config)
}

// Scheme returns amqp:// and amqps:// with ?mode=watermill beside the native transport.
// The mode uses these fields of native: TLS, Heartbeat, ConnectTimeout and Logger.
func Scheme(native amqpbus.Config, cfg Config) bus.Scheme {
	return watermillbus.WithMode(amqpbus.Scheme(native), without, func(_ context.Context, u *url.URL) (busdriver.Driver, error) {
		return open(u, native, cfg)
	})
}

// without lists the parameters of amqp:// that have no meaning in this mode.
var without = map[string]string{
	"prefix":          "Watermill's names have none",
	"exchange":        "Watermill has an exchange for each topic; change it with Config.Adapter",
	"partitions":      "a group has one queue",
	"queue_type":      "queues are declared as Watermill declares them; change it with Config.Adapter",
	"prefetch":        "Watermill's subscriber has one message in hand",
	"confirm_timeout": "Watermill's publisher waits until the connection is lost; bound it with the message's context",
}

func open(u *url.URL, native amqpbus.Config, cfg Config) (busdriver.Driver, error) {
	uri, connection, err := amqpbus.Dialing(u.String(), native)
	if err != nil {
		return nil, err
	}
	logger := watermill.NewSlogLoggerWithLevelMapping(native.Logger, map[slog.Level]slog.Level{slog.LevelInfo: slog.LevelDebug})
	if cfg.QueueName == nil {
		cfg.QueueName = func(topic, group string) string { return topic + "_" + group }
	}
	b := &broker{uri: uri, connection: connection, cfg: cfg, logger: logger, groups: map[group]int{}}
	d, err := watermillbus.New(watermillbus.Config{
		Publisher: func(context.Context) (message.Publisher, error) {
			p, err := wmamqp.NewPublisher(b.settings(""), logger)
			if err != nil {
				return nil, err
			}
			return p, nil
		},
		Subscriber: func(_ context.Context, name string) (message.Subscriber, error) {
			s, err := wmamqp.NewSubscriber(b.settings(name), logger)
			if err != nil {
				return nil, err
			}
			return &subscriber{Subscriber: s, broker: b, group: name, begin: make(chan struct{})}, nil
		},
		Capabilities: busdriver.Capabilities{Durable: true, ConsumerGroups: true, Broadcast: true, IndividualAcks: true, OneAtATime: true},
		Declare:      b.declare,
		Ping:         b.ping,
	})
	if err != nil {
		return nil, err
	}
	return &driver{d, b}, nil
}

// driver publishes and consumes with Watermill's adapter, and uses the broker itself for the rest.
type driver struct {
	watermillbus.Driver
	*broker
}

// settings returns Watermill's settings for a group.
func (b *broker) settings(name string) wmamqp.Config {
	c := wmamqp.NewDurablePubSubConfig(b.uri, func(topic string) string { return b.cfg.QueueName(topic, name) })
	connection := b.dialing()
	c.Connection.AmqpConfig = &connection
	c.Connection.Reconnect = &wmamqp.ReconnectConfig{
		BackoffInitialInterval: 500 * time.Millisecond, BackoffRandomizationFactor: 0.5, BackoffMultiplier: 1.5, BackoffMaxInterval: 10 * time.Second,
	}
	c.Publish.ConfirmDelivery = true
	if b.cfg.Adapter != nil {
		b.cfg.Adapter(&c)
	}
	c.Marshaler = wire{c.Marshaler}
	return c
}

package amqpwatermill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

// broker creates topics and inspects them, with a connection for each request.
type broker struct {
	uri        string
	connection amqp.Config
	cfg        Config
	logger     watermill.LoggerAdapter

	mu     sync.Mutex
	groups map[group]int // declared or used here, and their messages in flight here
}

type group struct{ topic, name string }

var (
	_ busdriver.Lagger      = (*broker)(nil)
	_ busdriver.TopicFinder = (*broker)(nil)
	_ busdriver.Inspector   = (*broker)(nil)
	_ busdriver.Pender      = (*broker)(nil)
)

// hold adds n to a group's messages in flight.
func (b *broker) hold(g group, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.groups[g] += n
}

// dialing returns the settings of one connection: the client adds to the properties.
func (b *broker) dialing() amqp.Config {
	c := b.connection
	c.Properties = maps.Clone(c.Properties)
	return c
}

// goodbye bounds closing a connection to a broker that does not answer.
const goodbye = 5 * time.Second

// ask opens a connection. The end of ctx closes it.
func (b *broker) ask(ctx context.Context, question func(*amqp.Connection) error) error {
	c := b.dialing()
	var end func() bool
	c.Dial = func(network, addr string) (net.Conn, error) {
		conn, err := b.connection.Dial(network, addr)
		if err == nil {
			end = context.AfterFunc(ctx, func() { conn.Close() }) //nolint:errcheck // nobody waits for it any more
		}
		return conn, err
	}
	conn, err := amqp.DialConfig(b.uri, c)
	if err == nil {
		err = errors.Join(question(conn), conn.CloseDeadline(time.Now().Add(goodbye)))
	}
	if end != nil && !end() {
		return context.Cause(ctx)
	}
	return err
}

func (b *broker) ping(ctx context.Context) error {
	return b.ask(ctx, func(*amqp.Connection) error { return nil })
}

// declare creates the exchange of a topic and the queues of its groups.
func (b *broker) declare(ctx context.Context, t bus.Topic) error {
	return b.ask(ctx, func(conn *amqp.Connection) error {
		ch, err := conn.Channel()
		if err != nil {
			return err
		}
		settings := b.settings("")
		if exchange := settings.Exchange.GenerateName(t.Name); exchange != "" {
			err = settings.TopologyBuilder.ExchangeDeclare(ch, exchange, settings)
		}
		for _, name := range t.Groups {
			if err != nil {
				break
			}
			settings := b.settings(name)
			err = settings.TopologyBuilder.BuildTopology(ch, settings.Queue.GenerateName(t.Name), settings.Exchange.GenerateName(t.Name), settings, b.logger)
			b.hold(group{t.Name, name}, 0)
		}
		if is(err, amqp.PreconditionFailed) {
			return fault.MarkPermanent(fmt.Errorf("%w: the fleet has declared it otherwise; say how in Config.Adapter", err))
		}
		return err
	})
}

// Lag implements driver.Lagger: messages in the queues of the groups that are known here, and
// this process's messages in flight.
func (b *broker) Lag(ctx context.Context) ([]bus.Lag, error) {
	b.mu.Lock()
	all := maps.Clone(b.groups)
	b.mu.Unlock()
	var lags []bus.Lag
	err := b.ask(ctx, func(conn *amqp.Connection) error {
		for g, held := range all {
			q, err := inspect(conn, b.settings(g.name).Queue.GenerateName(g.topic))
			switch {
			case is(err, amqp.NotFound):
				continue // it was deleted
			case err != nil:
				return err
			}
			lags = append(lags, bus.Lag{Topic: g.topic, Group: g.name, Messages: q.Messages + held})
		}
		return nil
	})
	if err != nil {
		return nil, fault.MarkInfrastructure(fmt.Errorf("amqpwatermill: lag: %w", err))
	}
	return lags, nil
}

// inspect asks for a queue. If the queue is absent, the broker closes the channel.
func inspect(conn *amqp.Connection, queue string) (q amqp.Queue, err error) {
	ch, err := conn.Channel()
	if err != nil {
		return q, err
	}
	if q, err = ch.QueueDeclarePassive(queue, true, false, false, false, nil); err != nil {
		return q, err
	}
	return q, ch.Close()
}

// HasTopic implements driver.TopicFinder.
func (b *broker) HasTopic(ctx context.Context, name string) (has bool, err error) {
	err = b.ask(ctx, func(conn *amqp.Connection) error {
		settings := b.settings("")
		exchange := settings.Exchange.GenerateName(name)
		if exchange == "" { // a topic is a queue
			_, err := inspect(conn, settings.Queue.GenerateName(name))
			return err
		}
		ch, err := conn.Channel()
		if err != nil {
			return err
		}
		return ch.ExchangeDeclarePassive(exchange, settings.Exchange.Type, true, false, false, false, nil)
	})
	switch {
	case err == nil:
		return true, nil
	case is(err, amqp.NotFound):
		return false, nil
	}
	return false, fault.MarkInfrastructure(fmt.Errorf("amqpwatermill: topic %s: %w", name, err))
}

// Topics implements driver.TopicFinder: RabbitMQ's protocol cannot list exchanges.
func (b *broker) Topics(context.Context) ([]string, error) { return nil, errors.ErrUnsupported }

func is(err error, code int) bool {
	var e *amqp.Error
	return errors.As(err, &e) && e.Code == code
}

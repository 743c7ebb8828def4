package amqpwatermill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"

	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/fault"
)

// looked is the limit of messages that Browse reads from a queue.
const looked = 2000

// Browse implements driver.Inspector for messages of the redrive group.
func (b *broker) Browse(ctx context.Context, topic string, limit int) ([]*message.Message, error) {
	all, err := b.look(ctx, topic, looked)
	return all[max(0, len(all)-max(limit, 0)):], err
}

// Pending implements driver.Pender for the redrive group.
func (b *broker) Pending(ctx context.Context, topic, name string, limit int) ([]*message.Message, error) {
	if name != busdriver.RedriveGroup {
		return nil, fmt.Errorf("amqpwatermill: pending: a queue that is consumed cannot be looked at: %w", errors.ErrUnsupported)
	}
	return b.look(ctx, topic, min(limit, looked))
}

// look consumes the oldest messages of the redrive group, and returns them to the queue.
func (b *broker) look(ctx context.Context, topic string, limit int) (all []*message.Message, err error) {
	settings := b.settings(busdriver.RedriveGroup)
	queue := settings.Queue.GenerateName(topic)
	err = b.ask(ctx, func(conn *amqp.Connection) error {
		before, err := inspect(conn, queue)
		switch {
		case is(err, amqp.NotFound):
			return nil
		case err != nil:
			return err
		case before.Consumers > 0:
			return fault.MarkTransient(fmt.Errorf("queue %s is being consumed; wait until that has ended", queue))
		}
		ch, err := conn.Channel()
		if err != nil {
			return err
		}
		for len(all) < limit {
			d, ok, err := ch.Get(queue, false)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			m, err := settings.Marshaler.Unmarshal(d)
			if err != nil {
				return err
			}
			all = append(all, m)
		}
		if err := ch.Close(); err != nil { // which returns them
			return err
		}
		return await(ctx, conn, queue, before.Messages)
	})
	if err != nil && fault.Of(err, unknown) == fault.Infrastructure {
		err = fault.MarkInfrastructure(fmt.Errorf("amqpwatermill: look at %s: %w", topic, err))
	}
	return all, err
}

func unknown(error) fault.Class { return fault.Infrastructure }

// await waits until n messages are in a queue: returned messages are there only a moment
// later. If another consumer has them by then, await returns after a second.
func await(ctx context.Context, conn *amqp.Connection, queue string, n int) error {
	again := kit.Backoff{Initial: time.Millisecond, Max: 100 * time.Millisecond}
	limited, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for attempt := 1; ; attempt++ {
		now, err := inspect(conn, queue)
		if err != nil || now.Messages >= n || kit.Sleep(limited, again.Delay(attempt)) != nil {
			return err
		}
	}
}

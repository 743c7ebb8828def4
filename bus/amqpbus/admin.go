package amqpbus

import (
	"context"

	amqp "github.com/rabbitmq/amqp091-go"
)

// admin is a channel for requests and declarations. The broker answers no by closing the
// channel, so the next request opens another one.
type admin struct {
	ctx  context.Context
	link *link
	ch   *amqp.Channel
}

func (a *admin) channel() (*amqp.Channel, error) {
	if err := a.ctx.Err(); err != nil {
		return nil, err
	}
	if a.ch == nil || a.ch.IsClosed() {
		ch, err := a.link.channel(a.ctx)
		if err != nil {
			return nil, err
		}
		a.ch = ch
	}
	return a.ch, nil
}

// inspect returns whether a queue exists, how many messages wait in it, and how many
// consumers it has; for a quorum queue, whether it has any.
func (a *admin) inspect(name string) (q amqp.Queue, exists bool, err error) {
	ch, err := a.channel()
	if err != nil {
		return q, false, err
	}
	q, err = ch.QueueDeclarePassive(name, true, false, false, false, nil)
	if is(err, amqp.NotFound) {
		return q, false, nil
	}
	return q, err == nil, err
}

func (a *admin) declare(name string, args amqp.Table) error {
	ch, err := a.channel()
	if err != nil {
		return err
	}
	_, err = ch.QueueDeclare(name, true, false, false, false, args)
	return err
}

// bind binds all keys in one round trip: the last one is answered after the others.
func (a *admin) bind(queue, exchange string, keys []string) error {
	ch, err := a.channel()
	if err != nil {
		return err
	}
	for i, key := range keys {
		if err := ch.QueueBind(queue, key, exchange, i < len(keys)-1, nil); err != nil {
			return err
		}
	}
	return nil
}

func (a *admin) close() {
	if a.ch != nil && !a.ch.IsClosed() {
		a.ch.Close() //nolint:errcheck // a channel that cannot be closed is gone
	}
}

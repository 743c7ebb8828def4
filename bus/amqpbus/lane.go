package amqpbus

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// lane consumes one queue of a group, session after session. The broker delivers a queue's
// messages to one consumer, and to another one when that consumer is gone.
type lane struct {
	source  *source
	queue   string
	yield   kit.Signal              // release the queue to another instance
	session atomic.Pointer[session] // nil: none is open
}

// run consumes until ctx ends, which is when the source is closed.
func (l *lane) run(ctx context.Context) {
	for attempt := 1; ctx.Err() == nil; attempt++ {
		s, err := l.open(ctx)
		if err == nil {
			l.session.Store(s)
			err = s.run()
			l.session.Store(nil)
			if s.active.Load() {
				attempt = 0
			}
			if err == nil {
				continue // it released the queue, or was closed
			}
		}
		if ctx.Err() != nil || errors.Is(err, errClosed) {
			return
		}
		wait := retry.Delay(max(attempt, 1))
		l.source.driver.cfg.Logger.Warn("amqpbus: a queue is not being consumed; trying again",
			"queue", l.queue, "error", err, "wait", wait)
		if kit.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// open starts to consume on a channel of its own, because closing a channel returns its
// messages all at once and in order.
func (l *lane) open(ctx context.Context) (_ *session, err error) {
	driver := l.source.driver
	ch, err := driver.consuming.channel(ctx)
	if err != nil {
		return nil, err
	}
	if err = ch.Qos(l.source.prefetch, 0, false); err != nil {
		return nil, err
	}
	closed := ch.NotifyClose(make(chan *amqp.Error, 1))
	deliveries, err := ch.Consume(l.queue, consumerTag, false, false, false, false, nil)
	if is(err, amqp.NotFound) {
		// The queue was deleted with its messages. A new queue receives the messages that
		// are published from now on.
		return nil, errors.Join(fmt.Errorf("the queue was deleted: %w", err), driver.topology.restore(ctx, l.source.group))
	}
	if err != nil {
		return nil, errors.Join(err, closeChannel(ch))
	}
	return newSession(l, ch, deliveries, closed), nil
}

// consumerTag names a consumer on its channel, where it is the only one.
const consumerTag = "millrace"

// closeChannel closes a channel that may be closed already.
func closeChannel(ch *amqp.Channel) error {
	if err := ch.Close(); err != nil && !errors.Is(err, amqp.ErrClosed) {
		return err
	}
	return nil
}

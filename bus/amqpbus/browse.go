package amqpbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"

	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
)

// Browse implements driver.Inspector for the messages that a topic holds for the redrive
// group: dead letters, and messages that no group accepts. The only way to see a queue is
// to consume its messages and return them. Browse does so in one go, and fails
// if the queue has a consumer. It does not show messages in the queues of other groups.
//
// Browse sees at most the 2,000 oldest messages of a queue, because a quorum queue delivers
// no more without an acknowledgement.
func (d *driver) Browse(ctx context.Context, topic string, limit int) ([]*message.Message, error) {
	newest, err := within(ctx, func() (newest []amqp.Delivery, err error) {
		err = d.look(ctx, topic, maxPrefetch, func(m amqp.Delivery) {
			if newest = append(newest, m); len(newest) > limit {
				newest = newest[1:]
			}
		})
		return newest, err
	})
	if err != nil || limit <= 0 {
		return nil, translate("browse "+topic, err)
	}
	return decoded(newest), nil
}

// Pending implements driver.Pender for the redrive group, in the same way as Browse.
func (d *driver) Pending(ctx context.Context, topic, group string, limit int) ([]*message.Message, error) {
	if group != busdriver.RedriveGroup {
		return nil, fmt.Errorf("amqpbus: pending: a queue that is consumed cannot be looked at: %w", errors.ErrUnsupported)
	}
	oldest, err := within(ctx, func() (oldest []amqp.Delivery, err error) {
		err = d.look(ctx, topic, limit, func(m amqp.Delivery) { oldest = append(oldest, m) })
		return oldest, err
	})
	if err != nil {
		return nil, translate("pending of "+topic, err)
	}
	return decoded(oldest), nil
}

func decoded(all []amqp.Delivery) []*message.Message {
	var messages []*message.Message
	for _, m := range all {
		messages = append(messages, messageOf(m).Watermill())
	}
	return messages
}

// quiet is how long a queue may take to hand over the next message.
const quiet = time.Second

// look shows at most limit messages of a topic's holding queue, the oldest first.
func (d *driver) look(ctx context.Context, topic string, limit int, show func(amqp.Delivery)) error {
	a := &admin{ctx: ctx, link: d.consuming}
	defer a.close()
	queue := d.topology.names.holding(topic)
	info, exists, err := a.inspect(queue)
	limit = min(limit, info.Messages, maxPrefetch)
	switch {
	case err != nil:
		return err
	case !exists:
		return nil
	case info.Consumers > 0:
		return errBusy
	case limit <= 0:
		return nil
	}
	if err := d.borrow(ctx, queue, limit, show); err != nil {
		return err
	}
	awaitReturn(a, queue, info.Messages)
	return nil
}

// borrow consumes up to n messages and returns all of them.
func (d *driver) borrow(ctx context.Context, queue string, n int, show func(amqp.Delivery)) (err error) {
	ch, err := d.consuming.channel(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave(ch)) }()
	if err := ch.Qos(n, 0, false); err != nil {
		return err
	}
	deliveries, err := ch.Consume(queue, consumerTag, false, false, false, false, nil)
	if err != nil {
		return err
	}
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for range n {
		select {
		case m, ok := <-deliveries:
			if !ok {
				return errLost
			}
			show(m)
			timer.Reset(quiet)
		case <-timer.C:
			return nil // another consumer was faster
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// leave returns all messages and closes the channel. It cancels the consumer first, so that
// the queue does not seem busy because of it.
func leave(ch *amqp.Channel) error {
	err := ch.Cancel(consumerTag, false)
	if err == nil {
		err = ch.Nack(0, true, true) // all
	}
	if cerr := closeChannel(ch); err == nil || errors.Is(err, amqp.ErrClosed) {
		err = cerr
	}
	return err
}

// handBack leaves a queue of which a consumer has n messages.
func (d *driver) handBack(ctx context.Context, ch *amqp.Channel, queue string, n int) error {
	a := &admin{ctx: ctx, link: d.consuming}
	defer a.close()
	info, _, err := a.inspect(queue)
	if lerr := leave(ch); lerr != nil {
		return lerr
	}
	if err == nil && n > 0 {
		awaitReturn(a, queue, info.Messages+n)
	}
	return nil
}

// awaitReturn waits until n messages are in the queue: returned messages are there only a
// moment later. If another consumer has them by then, it waits a second in vain.
func awaitReturn(a *admin, queue string, n int) {
	ctx, cancel := context.WithTimeout(a.ctx, quiet)
	defer cancel()
	for attempt := 1; ; attempt++ {
		info, _, err := a.inspect(queue)
		if err != nil || info.Messages >= n || kit.Sleep(ctx, restored.Delay(attempt)) != nil {
			return
		}
	}
}

var restored = kit.Backoff{Initial: time.Millisecond, Max: 100 * time.Millisecond}

package amqpbus

import (
	"context"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// balance releases queues that other instances of the group should have.
//
// The broker gives all queues to the instance that came first, and later instances stand
// by. So instances count themselves, as consumers of a queue without messages. An instance
// with more than its share of the busy queues releases one of them and lines up again.
func (s *source) balance(ctx context.Context) {
	var ch *amqp.Channel
	defer func() {
		if ch != nil {
			closeChannel(ch) //nolint:errcheck // with it goes the membership
		}
	}()
	for {
		if ch == nil || ch.IsClosed() {
			if joined, err := s.join(ctx); err == nil {
				ch = joined
			}
		} else if n, err := count(ch, members(s.group.base)); err == nil && n > 0 {
			s.stepBack((len(s.lanes) + n - 1) / n)
		}
		// With jitter, so that two instances do not step back at the same time.
		wait := kit.Backoff{Initial: s.driver.cfg.Rebalance, Max: 2 * s.driver.cfg.Rebalance, Jitter: 0.2}
		if kit.Sleep(ctx, wait.Delay(1)) != nil {
			return
		}
	}
}

// join makes this source a member of its group for as long as the channel is open.
func (s *source) join(ctx context.Context) (*amqp.Channel, error) {
	ch, err := s.driver.consuming.channel(ctx)
	if err != nil {
		return nil, err
	}
	name := members(s.group.base)
	if _, err := ch.QueueDeclare(name, true, true, false, false, amqp.Table{"x-queue-type": classic}); err != nil {
		return nil, err
	}
	nothing, err := ch.Consume(name, "", true, false, false, false, nil)
	if err != nil {
		return nil, err
	}
	go func() { // ends with the channel
		for range nothing {
		}
	}()
	return ch, nil
}

func count(ch *amqp.Channel, queue string) (int, error) {
	q, err := ch.QueueDeclarePassive(queue, true, true, false, false, nil)
	return q.Consumers, err
}

// stepBack releases one queue when this instance has more than share: the one with the
// fewest unacknowledged messages. While a queue is to be released, it asks for no other, and it
// leaves a queue alone for a while whose messages in flight did not end.
func (s *source) stepBack(share int) {
	ours, fewest, least := 0, 0, (*lane)(nil)
	for _, l := range s.lanes {
		session := l.session.Load()
		if session == nil || !session.active.Load() {
			continue
		}
		ours++
		yields, can := session.yields()
		if yields {
			return
		}
		if n, _ := session.held(); can && (least == nil || n < fewest) {
			least, fewest = l, n
		}
	}
	if ours > share && least != nil {
		least.yield.Send()
	}
}

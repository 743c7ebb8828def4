package amqpwatermill

import (
	"context"
	"sync"
	"time"

	wmamqp "github.com/ThreeDotsLabs/watermill-amqp/v2/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// subscriber is Watermill's subscriber. Its messages in flight count into the lag of its
// group, as the broker counts only waiting ones. It consumes nothing before the first
// Fetch, so that the count before that is exact: a redrive needs the number of letters.
type subscriber struct {
	*wmamqp.Subscriber
	broker *broker
	group  string
	begin  chan struct{}
	mu     sync.Mutex // held by consume and Close: Watermill's Subscribe and Close race
}

// Begin implements wmsource.Beginner.
func (s *subscriber) Begin() { close(s.begin) }

// Subscribe implements message.Subscriber. It creates the queue.
func (s *subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if err := s.SubscribeInitialize(topic); err != nil {
		return nil, err
	}
	g := group{topic, s.group}
	s.broker.hold(g, 0)
	out := make(chan *message.Message)
	go func() {
		defer close(out)
		select {
		case <-s.begin:
		case <-ctx.Done():
			return
		}
		for m := range s.consume(ctx, topic) {
			s.broker.hold(g, 1)
			out <- m // the source reads until the end
			select {
			case <-m.Acked():
			case <-m.Nacked():
			case <-m.Context().Done():
			}
			s.broker.hold(g, -1)
		}
	}()
	return out, nil
}

// consume subscribes, with retries: the connection may be lost at this moment.
func (s *subscriber) consume(ctx context.Context, topic string) <-chan *message.Message {
	again := kit.Backoff{Initial: 100 * time.Millisecond, Max: 10 * time.Second, Jitter: 0.2}
	for attempt := 1; ; attempt++ {
		in, err := s.tryConsume(ctx, topic)
		if err == nil {
			return in
		}
		if ctx.Err() == nil {
			s.broker.logger.Error("Cannot consume, trying again", err, nil)
		}
		if kit.Sleep(ctx, again.Delay(attempt)) != nil {
			ended := make(chan *message.Message)
			close(ended)
			return ended
		}
	}
}

func (s *subscriber) tryConsume(ctx context.Context, topic string) (<-chan *message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil { // it may be closed
		return nil, ctx.Err()
	}
	return s.Subscriber.Subscribe(ctx, topic)
}

// Close implements message.Subscriber. The context of the subscription has ended.
func (s *subscriber) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Subscriber.Close()
}

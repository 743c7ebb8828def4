package wmsource

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
)

// Beginner is implemented by subscribers that take no message from the broker before Begin, so
// that waiting messages can be counted before the first Fetch.
type Beginner interface{ Begin() }

// source is a topic of a Watermill subscriber.
type source struct {
	subscriber message.Subscriber
	in         <-chan *message.Message
	ctx        context.Context // of the subscription
	cancel     context.CancelFunc
	begin      func() // of a Beginner; the first Fetch calls it
	closing    atomic.Bool
	acks       acknowledgements
}

// Own subscribes to a topic, and closes the subscriber with the source, or when that fails. The
// subscription lasts until then, even after the end of ctx; it has the values of ctx.
func Own(ctx context.Context, subscriber message.Subscriber, topic string) (driver.Source, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	in, err := subscriber.Subscribe(ctx, topic)
	s := &source{subscriber: subscriber, in: in, ctx: ctx, cancel: cancel}
	if b, ok := subscriber.(Beginner); ok {
		s.begin = sync.OnceFunc(b.Begin)
	}
	if err != nil {
		cancel()
		s.closeSubscriber() //nolint:errcheck // the first error says more
		return nil, err
	}
	return s, nil
}

// Fetch implements [driver.Source].
func (s *source) Fetch(ctx context.Context, most int) ([]driver.Delivery, error) {
	if s.begin != nil {
		s.begin()
	}
	var all []driver.Delivery
	select {
	case m, ok := <-s.in:
		if !ok {
			return nil, driver.ErrEnded
		}
		all = append(all, &delivery{message: m, source: s})
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for len(all) < most {
		select {
		case m, ok := <-s.in:
			if !ok {
				return all, nil // the next call returns the end
			}
			all = append(all, &delivery{message: m, source: s})
			continue
		default:
		}
		break
	}
	return all, nil
}

// Close implements [driver.Source]. The subscription ends before the subscriber is closed: while
// its broker is absent, the subscriber of watermill-amqp reacts only to the former.
func (s *source) Close() error {
	s.closing.Store(true)
	s.acks.wait()
	drained := make(chan struct{})
	go func() { // the subscriber may be about to hand over its next message
		defer close(drained)
		for m := range s.in {
			m.Nack()
		}
	}()
	s.cancel()
	err := s.closeSubscriber()
	<-drained
	return err
}

func (s *source) closeSubscriber() error {
	if err := s.subscriber.Close(); err != nil {
		return fmt.Errorf("close the subscriber: %w", err)
	}
	return nil
}

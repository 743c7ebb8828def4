package sqsbus

import (
	"context"
	"errors"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
)

// subscriber implements message.Subscriber for a group.
type subscriber struct {
	driver *driver
	group  string
	window int

	mu     sync.Mutex
	closed bool
	subs   map[*subscription]struct{}
}

// Subscribe takes part in reading the topic's queue. When ctx is done, the intake
// stops and the channel is closed; what was handed over can still be acknowledged
// until Close. A message's context carries the values of ctx and ends with its
// acknowledgement, with Close, or when SQS has given the message to another.
func (s *subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	q, err := s.driver.queues.get(ctx, topic)
	if err != nil {
		return nil, translate("subscribe to "+topic, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, translate("subscribe to "+topic, bus.ErrClosed)
	}
	if err := s.driver.groups.join(topic, s.group); err != nil {
		return nil, translate("subscribe to "+topic, err)
	}
	sub := newSubscription(s, q)
	s.subs[sub] = struct{}{}
	go func() {
		sub.run(ctx)
		s.driver.groups.leave(topic)
		close(sub.done)
		s.mu.Lock()
		delete(s.subs, sub)
		s.mu.Unlock()
	}()
	return sub.out, nil
}

// Close stops the intake, closes the channels, deletes what was acknowledged and
// hands the rest back. It waits for the request for messages that is open, so
// that what it brings is handed back too.
func (s *subscriber) Close() error {
	s.mu.Lock()
	s.closed = true
	subs := make([]*subscription, 0, len(s.subs))
	for sub := range s.subs {
		subs = append(subs, sub)
	}
	s.mu.Unlock()
	errs := make([]error, len(subs))
	var wg sync.WaitGroup
	for i, sub := range subs {
		wg.Go(func() { errs[i] = sub.close() })
	}
	wg.Wait()
	s.driver.forget(s)
	return translate("close", errors.Join(errs...))
}

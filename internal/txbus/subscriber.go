package txbus

import (
	"context"
	"fmt"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
)

// subscriber reads topics for a group.
type subscriber struct {
	driver *Driver
	group  string

	mu     sync.Mutex
	closed bool
	subs   map[*subscription]struct{}
}

// Subscribe joins the group. When ctx is done the channel is closed, and messages that are out
// can be acknowledged until Close.
func (s *subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if err := s.driver.join(ctx, topic, s.group); err != nil {
		return nil, s.driver.translate(fmt.Errorf("subscribe: %w", err))
	}
	if _, err := s.driver.deliveries(ctx); err != nil {
		return nil, s.driver.translate(fmt.Errorf("subscribe: %w", err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, s.driver.translate(errClosed)
	}
	sub := newSubscription(s, topic)
	s.subs[sub] = struct{}{}
	go func() {
		sub.run(ctx)
		s.mu.Lock()
		delete(s.subs, sub)
		s.mu.Unlock()
		close(sub.done)
	}()
	return sub.out, nil
}

// Close stops the intake and closes the channels. Acknowledged messages are committed; those
// that are out are rolled back and redelivered.
func (s *subscriber) Close() error {
	s.mu.Lock()
	s.closed = true
	subs := make([]*subscription, 0, len(s.subs))
	for sub := range s.subs {
		subs = append(subs, sub)
	}
	s.mu.Unlock()
	for _, sub := range subs {
		sub.closeOnce.Do(func() { close(sub.closing) })
	}
	for _, sub := range subs {
		<-sub.done
	}
	s.driver.mu.Lock()
	delete(s.driver.subscribers, s)
	s.driver.mu.Unlock()
	return nil
}

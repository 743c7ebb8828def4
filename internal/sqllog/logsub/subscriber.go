package logsub

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/fault"
)

// closeTimeout bounds what Close waits for a database that is away, answerTimeout
// what it waits for one that does not answer. What could not be written then is
// delivered again.
const (
	closeTimeout  = 5 * time.Second
	answerTimeout = 15 * time.Second
)

// Subscriber reads topics for a group. It implements [message.Subscriber] and
// [message.SubscribeInitializer].
type Subscriber struct {
	hub    *Hub
	group  string
	window int

	mu     sync.Mutex
	closed bool
	subs   map[*subscription]struct{}
}

// Subscriber makes a subscriber of a group. Each of its subscriptions hands over
// messages in order per key, with at most window of them unacknowledged.
func (h *Hub) Subscriber(group string, window int) (*Subscriber, error) {
	if err := checkName("group", group); err != nil {
		return nil, err
	}
	if window < 1 {
		return nil, fault.MarkPermanent(fmt.Errorf("logsub: the window of group %s is %d; give at least 1", group, window))
	}
	s := &Subscriber{hub: h, group: group, window: window, subs: make(map[*subscription]struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	h.subscribers[s] = struct{}{}
	return s, nil
}

// SubscribeInitialize makes the topic and the group's cursors, so that the group
// receives whatever is published from now on.
func (s *Subscriber) SubscribeInitialize(topic string) error {
	ctx, cancel := context.WithTimeout(context.Background(), opTimeout)
	defer cancel()
	_, err := s.initialize(ctx, topic)
	return err
}

func (s *Subscriber) initialize(ctx context.Context, name string) (Topic, error) {
	topic, err := s.hub.topics.get(ctx, name)
	if err != nil {
		return topic, err
	}
	return topic, s.hub.topics.group(ctx, topic, s.group)
}

// Subscribe takes part in reading the topic. A new group starts at the earliest
// retained message.
//
// When ctx is done, the intake stops and the channel is closed; what was handed
// over can still be acknowledged until Close. A message's context carries the
// values of ctx and ends with its acknowledgement, with Close, or when another
// instance has taken over its partition.
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	t, err := s.initialize(ctx, topic)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	sub := newSubscription(s, t)
	s.subs[sub] = struct{}{}
	go func() {
		sub.run(ctx)
		s.mu.Lock()
		delete(s.subs, sub)
		s.mu.Unlock()
	}()
	return sub.out, nil
}

// Close stops the intake, closes the channels, writes what was acknowledged and
// gives the partitions to the group's other members. It waits for all that, but
// not for acknowledgements.
func (s *Subscriber) Close() error {
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

	s.hub.mu.Lock()
	delete(s.hub.subscribers, s)
	s.hub.mu.Unlock()
	return errors.Join(errs...)
}

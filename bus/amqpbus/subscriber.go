package amqpbus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
)

// subscriber is a message.Subscriber of one group.
type subscriber struct {
	driver  *driver
	group   string
	window  int
	closing chan struct{}

	mu     sync.Mutex
	closed bool
	subs   map[*subscription]struct{}
}

// Subscribe consumes the group's queues of a topic. Those of a group that was
// not declared are made now, and it gets what is published from now on.
func (s *subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("amqpbus: subscribe to %s: %w", topic, bus.ErrClosed)
	}
	g, err := s.driver.topology.resolve(ctx, topic, s.group)
	if err != nil {
		return nil, translate("subscribe to "+topic, err)
	}
	sub := newSubscription(ctx, s, g)
	expected := 0
	if g.held() {
		if expected, err = sub.expect(ctx); err != nil {
			return nil, translate("subscribe to "+topic, err)
		}
	}
	if s.subs == nil {
		s.subs = map[*subscription]struct{}{}
	}
	s.subs[sub] = struct{}{}
	go sub.run(ctx)
	if expected > 0 {
		sub.arrival(ctx)
	}
	return sub.out, nil
}

// Close ends the intake, acknowledges what was acknowledged before, and gives
// the rest back to the queues.
func (s *subscriber) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	subs := s.all()
	s.mu.Unlock()
	for _, sub := range subs {
		<-sub.ended
	}
	s.driver.mu.Lock()
	delete(s.driver.open, s)
	s.driver.mu.Unlock()
	return nil
}

// all returns the open subscriptions. The caller holds mu.
func (s *subscriber) all() []*subscription {
	var subs []*subscription
	for sub := range s.subs {
		subs = append(subs, sub)
	}
	return subs
}

func (s *subscriber) forget(sub *subscription) {
	s.mu.Lock()
	delete(s.subs, sub)
	s.mu.Unlock()
}

// subscription is one Subscribe: a lane for each queue of the group, which
// share a window and a channel.
type subscription struct {
	subscriber *subscriber
	group      *group
	lanes      []*lane
	share      int // of the window, for one lane: a stuck one leaves room
	prefetch   int

	base   context.Context
	cancel context.CancelFunc

	out    chan *message.Message
	window chan struct{} // capacity window: one for each unacknowledged message
	intake sync.WaitGroup
	ended  chan struct{}
}

func newSubscription(ctx context.Context, s *subscriber, g *group) *subscription {
	sub := &subscription{
		subscriber: s, group: g, share: (s.window + len(g.queues) - 1) / len(g.queues),
		out: make(chan *message.Message), window: make(chan struct{}, s.window), ended: make(chan struct{}),
	}
	sub.prefetch = s.driver.cfg.Prefetch
	if g.held() {
		// Whoever looks through dead letters holds as many as he can. They have
		// no order that another prefetch could break.
		sub.prefetch = min(s.window, maxPrefetch)
	}
	// Messages carry the context's values; its cancellation only ends the intake.
	sub.base, sub.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, q := range g.queues {
		sub.lanes = append(sub.lanes, &lane{sub: sub, queue: q, yield: make(chan struct{}, 1), arrived: make(chan struct{})})
	}
	return sub
}

func (s *subscription) run(ctx context.Context) {
	defer close(s.ended)
	defer s.subscriber.forget(s)
	// Opening channels and waiting end with the intake, or with Close.
	intake, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-s.subscriber.closing:
			stop()
		case <-intake.Done():
		}
	}()
	var running sync.WaitGroup
	for _, l := range s.lanes {
		s.intake.Add(1)
		running.Go(func() { l.run(intake) })
	}
	if len(s.lanes) > 1 {
		running.Go(func() { s.balance(intake) })
	}
	s.intake.Wait()
	close(s.out)
	running.Wait()
	s.cancel()
}

// expect says how many messages the only queue will hand over at once.
func (s *subscription) expect(ctx context.Context) (int, error) {
	a := &admin{ctx: ctx, link: s.subscriber.driver.consuming}
	defer a.close()
	info, _, err := a.inspect(s.group.base)
	if err != nil || info.Consumers > 0 {
		return 0, err
	}
	s.lanes[0].expected = min(info.Messages, s.prefetch)
	return s.lanes[0].expected, nil
}

// arrival waits until what is expected is here: on its way from the broker it
// would be in nobody's count, and whoever goes through dead letters would think
// that there are none.
func (s *subscription) arrival(ctx context.Context) {
	t := time.NewTimer(quiet)
	defer t.Stop()
	select {
	case <-s.lanes[0].arrived:
	case <-t.C:
	case <-ctx.Done():
	case <-s.ended:
	}
}

var errLost = errors.New("the consumer was lost")

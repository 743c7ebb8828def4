package membus

import (
	"context"
	"fmt"
	"slices"
	"sync"

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
	subs   []*subscription
}

func (s *subscriber) Subscribe(ctx context.Context, name string) (<-chan *message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("membus: subscribe to %s: %w", name, bus.ErrClosed)
	}
	t := s.driver.store.topic(name)
	// Messages carry the context's values; its cancellation only ends the intake.
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	sub := &subscription{
		topic: t, window: s.window, base: base, cancel: cancel, closing: s.closing,
		out: make(chan *message.Message), granted: make(chan struct{}),
		news: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	t.mu.Lock()
	sub.group = t.group(s.group)
	sub.next = -1
	if sub.group.holder == nil {
		sub.group.holder = sub
		close(sub.granted)
	} else {
		sub.group.line = append(sub.group.line, sub)
	}
	t.mu.Unlock()
	s.subs = append(s.subs, sub)
	go sub.run(ctx)
	return sub.out, nil
}

// Close ends the intake, counts the acknowledgements that were sent before, and
// gives the group up.
func (s *subscriber) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	subs := s.subs
	s.mu.Unlock()
	for _, sub := range subs {
		<-sub.ended
	}
	s.driver.mu.Lock()
	delete(s.driver.open, s)
	s.driver.mu.Unlock()
	return nil
}

// subscription reads a topic for a group, while it holds it.
type subscription struct {
	topic   *topic
	group   *group
	window  int
	base    context.Context
	cancel  context.CancelFunc
	closing <-chan struct{}

	out     chan *message.Message
	granted chan struct{} // closed when the group is ours
	news    chan struct{} // capacity 1: something was settled
	ended   chan struct{}

	watchers sync.WaitGroup

	// Guarded by topic.mu.
	next    int64     // position to read next; -1 before the first read
	pending []*flight // delivered beyond the cursor, by position
	unacked int
	nacked  int // how many of pending are to be delivered again
}

// flight is a delivered message.
type flight struct {
	position int64
	msg      *message.Message
	cancel   context.CancelFunc
	acked    bool
	again    bool // nacked, to be delivered again
}

func (s *subscription) run(ctx context.Context) {
	defer close(s.ended)
	defer s.cancel()
	s.intake(ctx)
	close(s.out)
	s.settleRest()
	s.topic.mu.Lock()
	for _, f := range s.pending {
		if !f.acked && isClosed(f.msg.Acked()) {
			f.acked = true
		}
		f.cancel()
	}
	s.commit()
	s.group.leave(s)
	s.topic.mu.Unlock()
	s.cancel()
	s.watchers.Wait()
}

// intake delivers until ctx is done or the subscriber closes.
func (s *subscription) intake(ctx context.Context) {
	select {
	case <-s.granted:
	case <-ctx.Done():
		return
	case <-s.closing:
		return
	}
	for {
		f, grown := s.take()
		if f == nil {
			select {
			case <-grown:
			case <-s.news:
			case <-ctx.Done():
				return
			case <-s.closing:
				return
			}
			continue
		}
		select {
		case s.out <- f.msg:
			s.watchers.Go(func() { s.watch(f) })
		case <-ctx.Done():
			s.untake(f)
			return
		case <-s.closing:
			s.untake(f)
			return
		}
	}
}

// settleRest waits until everything delivered is acknowledged or nacked, or the
// subscriber closes: the end of the intake is not the end of the handlers.
func (s *subscription) settleRest() {
	for {
		s.topic.mu.Lock()
		open := slices.ContainsFunc(s.pending, func(f *flight) bool { return !f.acked && !f.again })
		s.topic.mu.Unlock()
		if !open {
			return
		}
		select {
		case <-s.news:
		case <-s.closing:
			return
		}
	}
}

// take returns the next message to deliver: a nacked one first, since it comes
// before everything not yet read. Without one it returns a channel that is
// closed when the topic grows.
func (s *subscription) take() (*flight, <-chan struct{}) {
	t := s.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.next < 0 {
		s.next = s.group.cursor
	}
	if s.nacked > 0 {
		i := slices.IndexFunc(s.pending, func(f *flight) bool { return f.again })
		f := s.pending[i]
		f.again = false
		s.nacked--
		s.load(f)
		return f, nil
	}
	// The span bounds memory where an old message stays unacknowledged while
	// newer ones come and go.
	if s.unacked >= s.window || len(s.pending) >= spanFactor*s.window || s.next >= t.end() {
		return nil, t.grown
	}
	f := &flight{position: s.next}
	s.load(f)
	s.next++
	s.unacked++
	s.pending = append(s.pending, f)
	return f, nil
}

// spanFactor is how many windows the newest delivered message may lie beyond
// the oldest unacknowledged one.
const spanFactor = 24

func (s *subscription) load(f *flight) {
	ctx, cancel := context.WithCancel(s.base)
	f.msg = s.topic.at(f.position).message()
	f.msg.SetContext(ctx)
	f.cancel = cancel
}

// untake notes that f was not delivered after all.
func (s *subscription) untake(f *flight) {
	f.cancel()
	s.topic.mu.Lock()
	s.redeliver(f)
	s.topic.mu.Unlock()
}

// redeliver puts f in line again. The caller holds topic.mu.
func (s *subscription) redeliver(f *flight) {
	f.again = true
	s.nacked++
}

// watch waits for the answer to a delivered message.
func (s *subscription) watch(f *flight) {
	acked := false
	select {
	case <-f.msg.Acked():
		acked = true
	case <-f.msg.Nacked():
	case <-s.base.Done():
		return
	}
	f.cancel()
	s.topic.mu.Lock()
	if acked {
		if !f.acked {
			f.acked = true
			s.unacked--
		}
		s.commit()
	} else {
		s.redeliver(f)
	}
	s.topic.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// commit moves the cursor over the longest confirmed prefix. The caller holds
// topic.mu.
func (s *subscription) commit() {
	if s.group.holder != s {
		return
	}
	n := 0
	for n < len(s.pending) && s.pending[n].acked {
		s.pending[n] = nil
		n++
	}
	s.pending = s.pending[n:]
	s.group.cursor += int64(n)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

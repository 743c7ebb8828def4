package membus

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
)

// spanFactor is how many windows the newest delivered message may be beyond the oldest
// unacknowledged one. It bounds memory when an old message stays unacknowledged while newer ones
// come and go.
const spanFactor = 24

// source reads a topic for a group while it holds the group.
type source struct {
	topic  *topic
	group  *group
	window int
	base   context.Context // of its deliveries; never ends
	ready  kit.Signal      // there may be something to take
	closed chan struct{}
	once   sync.Once

	// Guarded by topic.mu.
	next    int64              // position to read next, once the source holds the group
	prefix  kit.Tracker[int64] // of the positions delivered beyond the cursor
	again   []*flight          // handed back, in order
	unacked int
}

// flight is a delivery.
type flight struct {
	source *source
	entry  *entry
	seq    int64 // in the source's prefix
	out    bool  // delivered and not settled; guarded by topic.mu
}

func newSource(ctx context.Context, t *topic, groupName string, window int) *source {
	s := &source{topic: t, window: window, base: context.WithoutCancel(ctx), ready: kit.NewSignal(), closed: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.group = t.group(groupName)
	s.group.join(s)
	return s
}

// Fetch implements driver.Source.
func (s *source) Fetch(ctx context.Context, most int) ([]driver.Delivery, error) {
	return driver.Fetch(ctx, s.ready, s.closed, bus.ErrClosed, func() []driver.Delivery { return s.take(most) })
}

// take returns the messages that can be delivered now: first those handed back, since they are
// before all unread messages.
func (s *source) take(most int) (all []driver.Delivery) {
	t := s.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.group.holder != s {
		return nil
	}
	give := func(f *flight) {
		f.out = true
		all = append(all, f)
	}
	back := min(most, len(s.again))
	for _, f := range s.again[:back] {
		give(f)
	}
	s.again = slices.Delete(s.again, 0, back)
	for len(all) < most && s.unacked < s.window && s.prefix.Span() < spanFactor*s.window && s.next < t.end() {
		position := s.next
		s.next++
		seq := s.prefix.Add(position)
		if s.group.done[position] {
			delete(s.group.done, position)
			s.done(seq)
			continue
		}
		s.unacked++
		give(&flight{source: s, entry: t.at(position), seq: seq})
	}
	return all
}

// Close hands the group to the next source in line.
func (s *source) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.topic.mu.Lock()
		s.group.leave(s)
		s.topic.mu.Unlock()
	})
	return nil
}

// Message implements driver.Delivery.
func (f *flight) Message() driver.Message {
	return driver.Message{ID: f.entry.uuid, Metadata: f.entry.metadata, Payload: f.entry.payload}
}

// Context implements driver.Delivery. No message is revoked in one process.
func (f *flight) Context() context.Context { return f.source.base }

// Done implements driver.Delivery.
func (f *flight) Done() {
	f.settle(func(s *source) {
		s.unacked--
		s.done(f.seq)
	})
}

// Back implements driver.Delivery.
func (f *flight) Back() {
	f.settle(func(s *source) {
		i, _ := slices.BinarySearchFunc(s.again, f, func(a, b *flight) int { return cmp.Compare(a.seq, b.seq) })
		s.again = slices.Insert(s.again, i, f)
	})
}

// settle calls do for a message that is out, with topic.mu held.
func (f *flight) settle(do func(*source)) {
	s := f.source
	s.topic.mu.Lock()
	defer s.topic.mu.Unlock()
	if f.out {
		f.out = false
		do(s)
		s.ready.Send()
	}
}

// done moves the cursor over the longest acknowledged prefix. The caller holds topic.mu.
func (s *source) done(seq int64) {
	if s.prefix.Done(seq) && s.group.holder == s {
		last, _ := s.prefix.Prefix()
		s.group.cursor = last + 1
	}
}

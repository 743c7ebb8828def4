package membus

import (
	"context"
	"fmt"
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
	topic   *topic
	group   *group
	window  int
	base    context.Context // of its deliveries; never ends
	granted chan struct{}   // closed when this source holds the group
	news    kit.Signal      // a message was settled
	closed  chan struct{}
	once    sync.Once

	// Guarded by topic.mu.
	next    int64     // position to read next; -1 before the first read
	pending []*flight // delivered beyond the cursor, by position
	unacked int
	back    int // how many of pending are to be redelivered
}

// flight is a delivery.
type flight struct {
	source   *source
	position int64
	entry    *entry
	acked    bool
	again    bool // to be redelivered
}

func newSource(ctx context.Context, t *topic, groupName string, window int) *source {
	s := &source{
		topic: t, window: window, base: context.WithoutCancel(ctx), next: -1,
		granted: make(chan struct{}), news: kit.NewSignal(), closed: make(chan struct{}),
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.group = t.group(groupName)
	if s.group.holder == nil {
		s.group.holder = s
		close(s.granted)
	} else {
		s.group.line = append(s.group.line, s)
	}
	return s
}

// Fetch implements driver.Source.
func (s *source) Fetch(ctx context.Context, most int) ([]driver.Delivery, error) {
	granted := s.granted
	for {
		var grown <-chan struct{}
		if granted == nil {
			var all []driver.Delivery
			if all, grown = s.take(most); len(all) > 0 {
				return all, nil
			}
		}
		select {
		case <-granted:
			granted = nil
		case <-grown:
		case <-s.news:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.closed:
			return nil, fmt.Errorf("%w: %w", driver.ErrEnded, bus.ErrClosed)
		}
	}
}

// take returns the messages that can be delivered now: first those handed back, since they are
// before all unread messages. If there are none, it returns a channel that is closed when the
// topic grows.
func (s *source) take(most int) (all []driver.Delivery, grown <-chan struct{}) {
	t := s.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.next < 0 {
		s.next = s.group.cursor
	}
	for _, f := range s.pending {
		if s.back == 0 || len(all) == most {
			break
		}
		if f.again {
			f.again = false
			s.back--
			all = append(all, f)
		}
	}
	for len(all) < most && s.unacked < s.window && len(s.pending) < spanFactor*s.window && s.next < t.end() {
		f := &flight{source: s, position: s.next, entry: t.at(s.next)}
		s.next++
		s.pending = append(s.pending, f)
		if f.acked = s.group.done[f.position]; f.acked {
			delete(s.group.done, f.position)
			s.commit()
			continue
		}
		s.unacked++
		all = append(all, f)
	}
	return all, t.grown
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
	s := f.source
	s.topic.mu.Lock()
	defer s.topic.mu.Unlock()
	if f.acked || f.again {
		return
	}
	f.acked = true
	s.unacked--
	s.commit()
	s.news.Send()
}

// Back implements driver.Delivery.
func (f *flight) Back() {
	s := f.source
	s.topic.mu.Lock()
	defer s.topic.mu.Unlock()
	if f.acked || f.again {
		return
	}
	f.again = true
	s.back++
	s.news.Send()
}

// commit moves the cursor over the longest acknowledged prefix. The caller holds topic.mu.
func (s *source) commit() {
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

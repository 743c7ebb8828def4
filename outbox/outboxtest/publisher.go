package outboxtest

import (
	"context"
	"fmt"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
)

// Publisher records published messages.
type Publisher struct {
	// Fail, when not nil, is called before each message; its error ends the Publish call there.
	// Several goroutines may call it at once.
	Fail func(topic string, e event.Event) error

	mu      sync.Mutex
	got     []Publication
	changed chan struct{}
}

// Publication is one message that was published.
type Publication struct {
	Topic   string
	Event   event.Event
	Message *message.Message
}

// Publish implements message.Publisher.
func (p *Publisher) Publish(topic string, msgs ...*message.Message) error {
	for _, msg := range msgs {
		e, err := event.Decode(msg)
		if err != nil {
			return fmt.Errorf("outboxtest: published what is no event: %w", err)
		}
		if p.Fail != nil {
			if err := p.Fail(topic, e); err != nil {
				return err
			}
		}
		p.mu.Lock()
		p.got = append(p.got, Publication{Topic: topic, Event: e, Message: msg})
		if p.changed != nil {
			close(p.changed)
			p.changed = nil
		}
		p.mu.Unlock()
	}
	return nil
}

// Close implements message.Publisher.
func (*Publisher) Close() error { return nil }

// Published returns the messages published so far.
func (p *Publisher) Published() []Publication {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got[:len(p.got):len(p.got)]
}

// Wait returns when the published messages satisfy done, or with an error if ctx ends first.
func (p *Publisher) Wait(ctx context.Context, what string, done func([]Publication) bool) error {
	for {
		p.mu.Lock()
		got := p.got[:len(p.got):len(p.got)]
		if p.changed == nil {
			p.changed = make(chan struct{})
		}
		changed := p.changed
		p.mu.Unlock()
		if done(got) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waited in vain for %s; %d messages were published: %w", what, len(got), ctx.Err())
		}
	}
}

// WaitFor waits until n messages were published.
func (p *Publisher) WaitFor(ctx context.Context, n int) error {
	return p.Wait(ctx, fmt.Sprintf("%d messages", n), func(got []Publication) bool { return len(got) >= n })
}

// Inversions counts events that were first published after a later one of their key, by their
// sequence numbers.
func Inversions(got []Publication) (n int) {
	type id struct {
		key string
		seq uint64
	}
	seen, highest := map[id]bool{}, map[string]uint64{}
	for _, g := range got {
		k := id{g.Event.Key(), g.Event.Sequence}
		if seen[k] {
			continue
		}
		seen[k] = true
		if k.seq < highest[k.key] {
			n++
		}
		highest[k.key] = max(highest[k.key], k.seq)
	}
	return n
}

// Duplicates counts publications of events that had been published before.
func Duplicates(got []Publication) (n int) {
	seen := map[string]bool{}
	for _, g := range got {
		if seen[g.Event.ID] {
			n++
		}
		seen[g.Event.ID] = true
	}
	return n
}

// NewEvent returns an event of the given key with a sequence number, by which [Publisher] and
// the suite check the order.
func NewEvent(key string, sequence int) (event.Event, error) {
	e, err := event.New("Tested", "outboxtest", map[string]any{"key": key, "n": sequence})
	if err != nil {
		return event.Event{}, fmt.Errorf("outboxtest: %w", err)
	}
	e.AggregateType, e.AggregateID, e.Sequence = "test", key, uint64(sequence)
	return e, nil
}

package logsub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/sqltx"
)

// Publisher appends messages to the log. It implements [message.Publisher] and
// is safe for concurrent use; what is published at the same time shares a commit.
type Publisher struct {
	hub      *Hub
	combiner combiner

	mu      sync.Mutex
	closed  bool
	pending sync.WaitGroup
}

func newPublisher(h *Hub) *Publisher {
	p := &Publisher{hub: h}
	p.combiner = combiner{write: p.write, classify: h.b.Classify}
	return p
}

// Publish returns when the messages are committed: all of them or none. When
// the first message's context carries a transaction of the same database, they
// are part of it: they are published when it commits, and not when it rolls back.
func (p *Publisher) Publish(topic string, messages ...*message.Message) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	p.pending.Add(1)
	p.mu.Unlock()
	defer p.pending.Done()

	if len(messages) == 0 {
		return nil
	}
	if err := p.publish(topic, messages); err != nil {
		return fmt.Errorf("publish to %s: %w", topic, err)
	}
	return nil
}

func (p *Publisher) publish(topic string, messages []*message.Message) error {
	if ctx := messages[0].Context(); p.hub.b.joins(ctx) {
		entries, err := p.entries(ctx, topic, messages)
		if err == nil {
			err = p.write(ctx, entries)
		}
		// A message can outlive the transaction in its context: a dead letter
		// is published after the handler's transaction has ended.
		if !errors.Is(err, sqltx.ErrEnded) {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), opTimeout)
	defer cancel()
	entries, err := p.entries(ctx, topic, messages)
	if err != nil {
		return err
	}
	return p.combiner.submit(entries)
}

func (p *Publisher) entries(ctx context.Context, name string, messages []*message.Message) ([]sqllog.Entry, error) {
	topic, err := p.hub.topics.get(ctx, name)
	if err != nil {
		return nil, err
	}
	entries := make([]sqllog.Entry, len(messages))
	for i, msg := range messages {
		if entries[i], err = encode(topic, msg, p.hub.b.headers()); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// write appends the entries in one transaction and wakes their readers after it
// has committed.
func (p *Publisher) write(ctx context.Context, entries []sqllog.Entry) error {
	wake := func() {
		lanes := lanesOf(entries)
		p.hub.wakes.data(lanes...)
		p.hub.b.announce(Change{Lanes: lanes})
	}
	hooked := false
	err := p.hub.b.Begin(ctx, func(ctx context.Context, x sqltx.Execer) error {
		hooked = sqltx.AfterCommit(ctx, wake)
		return p.hub.b.Log.Append(ctx, x, entries)
	})
	if err == nil && !hooked {
		wake()
	}
	return err
}

func lanesOf(entries []sqllog.Entry) []int {
	lanes := make([]int, 0, 4)
	for _, e := range entries {
		if !slices.Contains(lanes, e.Lane) {
			lanes = append(lanes, e.Lane)
		}
	}
	return lanes
}

// Close waits for the calls of Publish that are under way and refuses further ones.
func (p *Publisher) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.pending.Wait()
	return nil
}

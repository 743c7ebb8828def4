package logsub

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/batch"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/sqltx"
)

// Publisher appends messages to the log. It implements [message.Publisher] and is safe for
// concurrent use; concurrent calls share a commit.
type Publisher struct {
	hub     *Hub
	commits sync.Map // *combiner by topic; one for all, named "", unless Backend.TopicsApart

	mu      sync.Mutex
	closed  bool
	pending sync.WaitGroup
}

type combiner = batch.Combiner[[]log.Entry, error]

// combiner returns the combiner of the calls for a topic.
func (p *Publisher) combiner(topic string) *combiner {
	if !p.hub.b.TopicsApart {
		topic = ""
	}
	c, ok := p.commits.Load(topic)
	if !ok {
		c, _ = p.commits.LoadOrStore(topic, batch.New(commitCalls, opTimeout, p.commit).Limit(commitBytes, bytesOf))
	}
	return c.(*combiner)
}

// A commit takes at most commitCalls calls of Publish, and about commitBytes bytes, or one call.
const (
	commitCalls = 1000
	commitBytes = 4 << 20
	entryBytes  = 4 << 10 // the size of an entry beside its payload
)

// Publish returns when the messages are committed: all of them or none. If the first message's
// context carries a transaction of the same database, the messages are part of it: they are
// published when it commits, and not when it rolls back.
//
// If the first message's context ends, Publish returns at once. A [driver.PublishError] tells
// whether the messages may still be published.
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
	if outcome, err := p.publish(topic, messages); err != nil {
		return driver.Failed(topic, len(messages), messages[0].UUID, outcome, err)
	}
	return nil
}

// publish publishes all messages or none. The outcome applies to an error.
func (p *Publisher) publish(topic string, messages []*message.Message) (driver.Outcome, error) {
	if ctx := messages[0].Context(); p.hub.b.joins(ctx) {
		entries, err := p.entries(ctx, topic, messages)
		if err == nil {
			err = p.write(ctx, entries)
		}
		// A message can outlive the transaction in its context: a dead letter is published after
		// the handler's transaction has ended.
		if !errors.Is(err, sqltx.ErrEnded) {
			return driver.NotSent, err
		}
	}
	outer := messages[0].Context()
	if outer.Err() != nil {
		return driver.NotSent, context.Cause(outer)
	}
	// It ends with the message's context, but has none of its values, so no transaction.
	ctx := context.Background()
	if outer.Done() != nil {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(outer, func() { cancel(context.Cause(outer)) })()
	}
	entries, err := p.entries(ctx, topic, messages)
	if err != nil {
		return driver.NotSent, errors.Join(err, context.Cause(ctx))
	}
	refused, err := p.combiner(topic).Do(ctx, entries)
	err = cmp.Or(err, refused)
	switch {
	case errors.Is(err, batch.ErrUnknown):
		return driver.Unknown, err
	case errors.Is(err, batch.ErrNotSent), sqltx.IsConflict(err): // the conflict was rolled back
		return driver.NotSent, err
	case fault.Of(err, p.hub.b.classifiers()...) == fault.Permanent:
		return driver.Refused, err
	}
	return driver.Unknown, err
}

// commit writes the entries of several calls in one transaction. If the database refuses an
// entry, each call gets a transaction of its own. Without transactions, some calls can fail alone.
func (p *Publisher) commit(ctx context.Context, calls [][]log.Entry) ([]error, error) {
	outcomes := make([]error, len(calls))
	if len(calls) == 1 {
		outcomes[0] = p.write(ctx, calls[0])
		return outcomes, nil
	}
	err := p.write(ctx, slices.Concat(calls...))
	if apart, ok := errors.AsType[partial](err); ok {
		for i, entries := range calls {
			for _, e := range entries {
				outcomes[i] = cmp.Or(outcomes[i], apart.Lane(e.Lane))
			}
			if fault.Of(outcomes[i], p.hub.b.classifiers()...) == fault.Permanent {
				outcomes[i] = p.write(ctx, entries) // another call's entry may be at fault
			}
		}
		return outcomes, nil
	}
	if err == nil || fault.Of(err, p.hub.b.classifiers()...) != fault.Permanent {
		return outcomes, err
	}
	for i, entries := range calls {
		outcomes[i] = p.write(ctx, entries)
	}
	return outcomes, nil
}

// partial is the error of an Append without a transaction that has failed for some lanes only.
type partial interface {
	error
	// Lane returns the error of a lane; nil if its entries are appended.
	Lane(lane int) error
}

func bytesOf(entries []log.Entry) (n int) {
	for _, e := range entries {
		n += entryBytes + len(e.Payload) + len(e.Headers)
	}
	return n
}

func (p *Publisher) entries(ctx context.Context, name string, messages []*message.Message) ([]log.Entry, error) {
	topic, err := p.hub.topics.get(ctx, name)
	if err != nil {
		return nil, err
	}
	entries := make([]log.Entry, len(messages))
	for i, msg := range messages {
		if entries[i], err = encode(topic, msg, p.hub.b.headers()); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// write appends the entries, all or none, and wakes their readers after the commit.
func (p *Publisher) write(ctx context.Context, entries []log.Entry) error {
	wake := func() {
		lanes := lanesOf(entries)
		p.hub.wakes.data(lanes...)
		p.hub.b.announce(Change{Lanes: lanes})
	}
	if p.hub.b.joins(ctx) {
		return p.hub.b.Begin(ctx, func(ctx context.Context) error {
			sqltx.AfterCommit(ctx, wake)
			return p.hub.b.Append(ctx, entries)
		})
	}
	err := p.hub.b.Append(ctx, entries)
	if _, some := errors.AsType[partial](err); some || err == nil {
		wake()
	}
	return err
}

func lanesOf(entries []log.Entry) []int {
	lanes := make([]int, 0, 4)
	for _, e := range entries {
		if !slices.Contains(lanes, e.Lane) {
			lanes = append(lanes, e.Lane)
		}
	}
	return lanes
}

// Close waits for the calls of Publish under way and refuses further ones.
func (p *Publisher) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.pending.Wait()
	for _, c := range p.commits.Range {
		c.(*combiner).Wait() // for calls whose callers have left
	}
	return nil
}

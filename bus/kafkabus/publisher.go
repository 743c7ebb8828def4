package kafkabus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/semaphore"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
)

// publisher puts the messages of its callers into a queue for each partition, and hands the
// queues to a producing client, batch by batch (queue.go).
type publisher struct {
	topics   *topics
	set      settings
	lateness lateness
	room     *semaphore.Weighted // bytes of messages that are not settled
	life     context.Context     // ends when Close stops waiting for calls
	end      context.CancelFunc  // of life
	pending  sync.WaitGroup      // calls of Publish
	workers  sync.WaitGroup      // batches in flight, and goroutines

	mu      sync.Mutex
	closed  bool
	client  *kgo.Client
	sizes   map[string]int32     // partitions by topic
	purged  map[string]time.Time // when the client was made to forget a topic
	queues  map[partition]*queue
	ready   []*queue // have messages, and no batch in flight
	sending bool     // a goroutine is sending

	closeOnce sync.Once
}

// partition names a partition of a topic.
type partition struct {
	topic string
	id    int32
}

func newPublisher(t *topics, set settings) (*publisher, error) {
	p := &publisher{
		topics: t, set: set, room: semaphore.NewWeighted(int64(set.PublishBuffer)),
		sizes: map[string]int32{}, purged: map[string]time.Time{}, queues: map[partition]*queue{},
	}
	p.life, p.end = context.WithCancel(context.Background())
	var err error
	p.client, err = p.dial()
	return p, err
}

// item is a message on its way into the topic.
type item struct {
	call   *call
	index  int // in the call
	key    string
	record kgo.Record
	size   int    // on the wire, before compression
	queue  *queue // of its partition
	batch  *batch // that it was handed to the client in; nil while it waits
	sent   bool   // it may have been sent
	err    error  // of the batch
}

// call is one call of Publish. The publisher's lock guards the fields that change.
type call struct {
	topic string
	at    time.Time
	bytes int64         // taken of the room
	done  chan struct{} // closed when every message is settled

	items    []item              // nil before there is room for them
	outcomes []busdriver.Outcome // 0 while a message is not settled
	left     int                 // how many messages are not settled
	over     bool                // Publish has returned, or is about to
	failed   map[string]struct{} // keys of which a message failed
	first    int                 // index of the first failure
	err      error               // its cause; nil without failures
}

// Publish returns when all messages are acknowledged by every in-sync replica, or with a
// [bus.PublishError] that says which are. It keeps the order of a key's messages: after a
// failed message, later messages of the same call and key are not sent. It ends early when
// the context of the first message does.
func (p *publisher) Publish(topic string, messages ...*message.Message) error {
	if len(messages) == 0 {
		return nil
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return errClosed
	}
	p.pending.Add(1)
	p.mu.Unlock()
	defer p.pending.Done()

	ctx, cancel := context.WithTimeout(messages[0].Context(), p.set.PublishTimeout)
	defer cancel()
	defer p.lateness.expect(p.set.PublishTimeout / 4)()
	c := &call{
		topic: p.set.prefix + topic, at: time.Now(), done: make(chan struct{}),
		outcomes: make([]busdriver.Outcome, len(messages)), left: len(messages),
	}
	err := p.submit(ctx, c, messages)
	if err == nil {
		select {
		case <-c.done:
		case <-ctx.Done():
			err = ctx.Err()
		case <-p.life.Done():
			err = bus.ErrClosed
		}
	}
	return p.outcome(c, messages, err)
}

// submit puts the messages into the queues of their partitions: all or none.
func (p *publisher) submit(ctx context.Context, c *call, messages []*message.Message) (err error) {
	if err := p.topics.ensure(ctx, c.topic); err != nil {
		return err
	}
	sizes, bytes := make([]int, len(messages)), int64(0)
	for i, m := range messages {
		if sizes[i], err = sizeOf(m, event.Key(m)); err != nil {
			c.first, c.outcomes[i] = i, busdriver.Refused
			return err
		}
		bytes += int64(sizes[i] + itemBytes)
	}
	partitions, err := p.partitions(ctx, c.topic)
	if err != nil {
		return err
	}
	bytes = min(bytes, int64(p.set.PublishBuffer))
	if err := p.room.Acquire(ctx, bytes); err != nil {
		return err
	}
	c.items = make([]item, len(messages))
	for i, m := range messages {
		it := &c.items[i]
		it.call, it.index, it.key, it.size = c, i, event.Key(m), sizes[i]
		encode(&it.record, m, it.key)
		it.record.Topic, it.record.Timestamp = c.topic, c.at
		it.record.Partition = p.set.partition(it.record.Key, partitions)
	}
	p.mu.Lock()
	c.bytes = bytes
	for i := range c.items {
		it := &c.items[i]
		it.queue = p.queue(partition{c.topic, it.record.Partition})
		it.queue.items = append(it.queue.items, it)
		p.schedule(it.queue)
	}
	first := !p.sending
	p.sending = true
	p.mu.Unlock()
	if first {
		p.send() // here, so that a lone message does not wait for another goroutine
	}
	return nil
}

// itemBytes is the memory of a message beside its bytes on the wire.
const itemBytes = 500

// outcome returns the result of Publish. err is the reason to stop waiting; messages that
// the client does not have yet are not sent.
func (p *publisher) outcome(c *call, messages []*message.Message, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.over = true
	if c.left == 0 && c.err == nil {
		return nil
	}
	e := &bus.PublishError{Topic: strings.TrimPrefix(c.topic, p.set.prefix), Outcomes: make([]busdriver.Outcome, len(messages)), First: c.first, Err: c.err}
	for i := range e.Outcomes {
		switch {
		case c.outcomes[i] != 0:
			e.Outcomes[i] = c.outcomes[i]
		case c.items != nil && c.items[i].sent:
			e.Outcomes[i] = busdriver.Unknown
		default:
			e.Outcomes[i] = busdriver.NotSent
		}
	}
	if c.err == nil {
		e.Err = err
		if errors.Is(err, context.DeadlineExceeded) {
			e.Err = fmt.Errorf("no acknowledgement within %v: %w", p.set.PublishTimeout, p.lateness.since(c.at, err))
		}
		if e.Outcomes[e.First] == busdriver.Published {
			e.First = e.Unpublished()[0]
		}
	}
	e.ID = messages[e.First].UUID
	p.withdraw(c)
	return judged(e)
}

// settle notes the outcome of an item; p.mu is held.
func (p *publisher) settle(it *item, o busdriver.Outcome, err error) {
	c := it.call
	c.outcomes[it.index] = o
	it.record, it.batch = kgo.Record{}, nil // of calls that share batches, one would keep all in memory
	if o != busdriver.Published {
		if c.err == nil || it.index < c.first {
			c.err, c.first = err, it.index
		}
		if c.failed == nil {
			c.failed = map[string]struct{}{}
		}
		c.failed[it.key] = struct{}{}
	}
	if c.left--; c.left == 0 {
		p.room.Release(c.bytes)
		close(c.done)
	}
}

// Close refuses further calls, lets calls in flight finish for a while, and then ends them.
func (p *publisher) Close() error {
	p.closeOnce.Do(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		defer time.AfterFunc(closeTimeout, p.end).Stop()
		p.pending.Wait()
		p.end()
		p.mu.Lock()
		client := p.client // it is not replaced any more
		p.mu.Unlock()
		client.Close()
		p.workers.Wait()
	})
	return nil
}

// closeTimeout is how long Close waits for messages in flight.
const closeTimeout = 5 * time.Second

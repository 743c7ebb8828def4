package kafkabus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"
	"golang.org/x/sync/semaphore"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
)

// publisher sends what all its callers publish in common batches. Each partition
// has a lane: a queue of which one batch at a time is under way, and the next
// holds whatever has come meanwhile. So a lone message leaves at once, load
// makes batches by itself, and nothing overtakes a batch that is being retried.
//
// It stands on sarama's client and protocol, and not on its AsyncProducer: that
// one goes on with the messages behind a batch that has failed.
type publisher struct {
	client  sarama.Client
	topics  *topics
	set     settings
	conf    *sarama.Config
	room    *semaphore.Weighted // bytes of messages that are not settled
	stop    chan struct{}       // closed: retry no more
	pending sync.WaitGroup      // calls of Publish
	workers sync.WaitGroup      // goroutines of lanes and nodes

	mu     sync.Mutex
	closed bool
	lanes  map[partition]*lane
	nodes  map[int32]*node // by broker id

	producerMu sync.Mutex
	producer   *producerID // shared by lanes that had no trouble

	closeOnce sync.Once
}

// partition names one.
type partition struct {
	topic string
	id    int32
}

func newPublisher(client sarama.Client, t *topics, set settings) *publisher {
	return &publisher{
		client: client, topics: t, set: set, conf: client.Config(),
		room: semaphore.NewWeighted(int64(set.PublishBuffer)), stop: make(chan struct{}),
		lanes: map[partition]*lane{}, nodes: map[int32]*node{},
	}
}

// item is a message on its way into the topic.
type item struct {
	call   *call
	index  int // in the call
	key    string
	record *sarama.Record
	size   int
	sent   bool // a batch with it was cut
}

// call is one call of Publish. The publisher's lock guards what changes.
type call struct {
	topic string
	at    time.Time
	bytes int64         // taken of the room
	done  chan struct{} // closed when every message is settled

	items    []item
	outcomes []bus.Outcome       // 0 while a message is not settled
	left     int                 // how many are not
	over     bool                // nobody waits for it any more
	failed   map[string]struct{} // keys of which a message failed
	first    int                 // index of the first failure
	err      error               // its cause; nil while all goes well
	trouble  error               // what is being waited for
}

// Publish returns when all messages are acknowledged by every in-sync replica,
// or with a [bus.PublishError] that says which are. It keeps the order of messages
// of a key: behind one that failed, later ones of the same call and key are not
// sent. It ends early when the first message's context does.
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
	c := &call{
		topic: topic, at: time.Now(), done: make(chan struct{}),
		items: make([]item, len(messages)), outcomes: make([]bus.Outcome, len(messages)), left: len(messages),
	}
	err := p.submit(ctx, c, messages)
	if err == nil {
		select {
		case <-c.done:
		case <-ctx.Done():
			err = ctx.Err()
		case <-p.stop:
			err = bus.ErrClosed
		}
	}
	return p.outcome(c, messages, err)
}

// submit puts the messages into the lanes of their partitions: all or none.
func (p *publisher) submit(ctx context.Context, c *call, messages []*message.Message) error {
	if err := p.topics.ensure(ctx, c.topic); err != nil {
		return err
	}
	bytes := int64(0)
	for i, m := range messages {
		key := event.Key(m)
		r, size, err := record(m, key)
		if err != nil {
			c.first, c.outcomes[i] = i, bus.Refused
			return err
		}
		c.items[i] = item{call: c, index: i, key: key, record: r, size: size}
		bytes += int64(size)
	}
	partitions, err := p.client.Partitions(c.topic)
	if err != nil {
		if isKerror(err, sarama.ErrUnknownTopicOrPartition) {
			p.topics.forget(c.topic) // it was deleted; the next call makes it again
		}
		return err
	}
	bytes = min(bytes, int64(p.set.PublishBuffer))
	if err := p.room.Acquire(ctx, bytes); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.bytes = bytes
	for i := range c.items {
		choice := p.set.partition(c.items[i].record.Key, int32(len(partitions)))
		p.lane(partition{c.topic, partitions[choice]}).add(&c.items[i])
	}
	return nil
}

// lane returns the lane of a partition; p.mu is held.
func (p *publisher) lane(of partition) *lane {
	l := p.lanes[of]
	if l == nil {
		l = &lane{publisher: p, of: of}
		p.lanes[of] = l
	}
	return l
}

// outcome returns what Publish returns. err is why it does not wait any longer;
// messages that are still in the lanes are not sent any more.
func (p *publisher) outcome(c *call, messages []*message.Message, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.over = true
	if c.left == 0 && c.err == nil {
		return nil
	}
	e := &bus.PublishError{Topic: c.topic, Outcomes: make([]bus.Outcome, len(messages)), First: c.first, Err: c.err}
	for i := range e.Outcomes {
		switch {
		case c.outcomes[i] != 0:
			e.Outcomes[i] = c.outcomes[i]
		case c.items[i].sent:
			e.Outcomes[i] = bus.Unknown
		default:
			e.Outcomes[i] = bus.NotSent
		}
	}
	if c.err == nil {
		e.Err = err
		if errors.Is(err, context.DeadlineExceeded) {
			e.Err = p.timedOut(c.trouble)
		}
		if e.Outcomes[e.First] == bus.Published {
			e.First = e.Unpublished()[0]
		}
	}
	e.ID = messages[e.First].UUID
	return judged(e)
}

func (p *publisher) timedOut(trouble error) error {
	if trouble == nil {
		return fmt.Errorf("no acknowledgement within %v: %w", p.set.PublishTimeout, context.DeadlineExceeded)
	}
	return fmt.Errorf("no acknowledgement within %v: %w", p.set.PublishTimeout, trouble)
}

// settle notes what became of an item; p.mu is held.
func (p *publisher) settle(it *item, o bus.Outcome, err error) {
	c := it.call
	c.outcomes[it.index] = o
	if o != bus.Published {
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

// Close refuses further calls, lets those under way finish for a while, and
// then ends them.
func (p *publisher) Close() error {
	p.closeOnce.Do(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		finished := make(chan struct{})
		go func() {
			p.pending.Wait()
			close(finished)
		}()
		t := time.NewTimer(closeTimeout)
		defer t.Stop()
		select {
		case <-finished:
		case <-t.C:
		}
		close(p.stop)
		<-finished
		p.workers.Wait()
	})
	return nil
}

// closeTimeout is how long Close lets messages that are under way go on.
const closeTimeout = 5 * time.Second

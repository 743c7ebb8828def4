package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

// Bus is an opened transport. It is safe for concurrent use.
type Bus struct {
	name   string
	driver driver.Driver
	pub    *publisher

	mu      sync.Mutex
	closing bool                     // there are no more subscribers
	closed  bool                     // all of them have ended
	open    map[*dispatcher]struct{} // closed before the driver
}

// New makes a Bus of a driver that is open already; most programs use [Open]. The Bus owns
// the driver from then on. name is shown to operators.
func New(name string, d driver.Driver) *Bus {
	b := &Bus{name: name, driver: d, open: map[*dispatcher]struct{}{}}
	b.pub = &publisher{bus: b, next: d.Publisher()}
	return b
}

// Name is the scheme the bus was opened with.
func (b *Bus) Name() string { return b.name }

// Capabilities returns the capabilities of the transport.
func (b *Bus) Capabilities() driver.Capabilities { return b.driver.Capabilities() }

// Driver returns the transport's driver, for its optional interfaces.
func (b *Bus) Driver() driver.Driver { return b.driver }

// Publisher returns the shared publisher. Its Close does nothing, so a Router or a handler can
// close its publisher without an effect on others.
//
// An error of the transport is classified as infrastructure unless the driver classified it
// otherwise: a consumer whose handler cannot publish pauses.
func (b *Bus) Publisher() message.Publisher { return b.pub }

// Subscriber returns a subscriber for a consumer group. It delivers keys in parallel, and the
// messages of a key in order:
//
//   - It takes messages from the transport in order and queues them by event.Key. Messages
//     without a key count as one key.
//   - It hands out at most one unacknowledged message per key, and at most Concurrency in all.
//   - Each message it hands out is a copy with a context of its own. The context ends with the
//     acknowledgement, when the transport takes the message back, or at the end of the drain
//     timeout, and not when a Router closes.
//   - An ack of the copy acknowledges the original. After a nack, the same message is handed out
//     again after a backoff. Its key waits until then.
//   - When it stops, it hands unfinished messages back to the transport.
//
// Each Subscribe opens its own subscriber of the transport. Close it, or close the Bus. For a
// subscriber of Watermill, package watermillbus makes the driver.
//
// Subscribe waits for a server that is absent: it retries with a backoff of at most 30 s and
// logs each failure. The wait ends with its context, or with Close.
func (b *Bus) Subscriber(group string, cfg SubscriberConfig) (message.Subscriber, error) {
	c := &consumer{}
	c.Group = group
	d, err := b.dispatcher(cfg, c)
	if err != nil {
		return nil, fmt.Errorf("bus: subscriber of group %q: %w", group, err)
	}
	return d, nil
}

func (b *Bus) dispatcher(cfg SubscriberConfig, c *consumer) (*dispatcher, error) {
	if c.Group == "" {
		return nil, errors.New("group is empty; name the consumer group")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return nil, ErrClosed
	}
	d := newDispatcher(b, cfg.withDefaults(), c)
	b.open[d] = struct{}{}
	return d, nil
}

func (b *Bus) forget(d *dispatcher) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, d)
}

// Declare makes topics and groups. A durable consumer group that is declared receives everything
// published from then on, even if it starts to consume later.
//
// Declare does not wait for an absent server: the error is classified as infrastructure. A
// [Runner] declares the topics and groups of its consumers, and waits.
func (b *Bus) Declare(ctx context.Context, topics ...Topic) error {
	for _, t := range topics {
		switch {
		case t.Name == "":
			return errors.New("bus: declare: a topic has no name")
		case t.Partitions < 0 || t.Replication < 0 || t.Retention < 0:
			return fmt.Errorf("bus: declare: topic %s: partitions, replication and retention must not be negative; 0 means the default", t.Name)
		}
	}
	if b.isClosed() {
		return ErrClosed
	}
	if err := b.driver.Declare(ctx, topics...); err != nil {
		return fmt.Errorf("bus: declare: %w", err)
	}
	return nil
}

// Ping asks the transport's server once whether it is there, and makes no topic. If the server
// does not answer, the error is classified as infrastructure. The error is errors.ErrUnsupported
// where the transport has no server to ask.
func (b *Bus) Ping(ctx context.Context) error {
	p, err := able[driver.Pinger](b, "ping")
	if err != nil {
		return err
	}
	if err := p.Ping(ctx); err != nil {
		return fmt.Errorf("bus: ping: %w", err)
	}
	return nil
}

// Lag returns how far the groups are behind, by topic and group; the error is
// errors.ErrUnsupported where the transport cannot tell.
func (b *Bus) Lag(ctx context.Context) ([]Lag, error) {
	l, err := able[driver.Lagger](b, "lag")
	if err != nil {
		return nil, err
	}
	all, err := l.Lag(ctx)
	slices.SortFunc(all, byGroup)
	return all, err
}

// Topics lists those of the named topics that exist, or all topics when none is named, sorted. It
// makes nothing. The error is errors.ErrUnsupported where the transport cannot tell.
func (b *Bus) Topics(ctx context.Context, names ...string) ([]string, error) {
	f, err := able[driver.TopicFinder](b, "topics")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return f.Topics(ctx)
	}
	var all []string
	for _, name := range names {
		is, err := f.HasTopic(ctx, name)
		if err != nil {
			return nil, err
		}
		if is {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all, nil
}

// Browse shows a topic's newest retained messages without consuming them,
// newest last; the error is errors.ErrUnsupported where the transport cannot.
func (b *Bus) Browse(ctx context.Context, topic string, limit int) ([]*message.Message, error) {
	i, err := able[driver.Inspector](b, "browse")
	if err != nil {
		return nil, err
	}
	return i.Browse(ctx, topic, limit)
}

// Pending shows the messages that a group has not acknowledged, oldest first, without consuming
// them; the error is errors.ErrUnsupported where the transport cannot.
func (b *Bus) Pending(ctx context.Context, topic, group string, limit int) ([]*message.Message, error) {
	p, err := able[driver.Pender](b, "pending")
	if err != nil {
		return nil, err
	}
	return p.Pending(ctx, topic, group, limit)
}

// Close closes the subscribers made by this Bus, whose handlers can publish until they have ended,
// and then the transport. Later calls return nil.
func (b *Bus) Close() error {
	b.mu.Lock()
	if b.closing {
		b.mu.Unlock()
		return nil
	}
	b.closing = true
	open := slices.Collect(maps.Keys(b.open))
	b.mu.Unlock()

	failed := closeAll(open)
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	if err := b.driver.Close(); err != nil {
		failed = errors.Join(failed, fmt.Errorf("bus: close %s: %w", b.name, err))
	}
	return failed
}

func (b *Bus) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// Stats counts the messages published through this bus, dead letters included.
type Stats struct {
	Published int64 // messages that the transport took
	// Failed counts the other messages of calls that failed; the transport may have taken some of
	// them. Calls that the caller cancelled are not counted.
	Failed int64
}

// Stats returns the counts since the bus was opened.
func (b *Bus) Stats() Stats {
	return Stats{Published: b.pub.published.Load(), Failed: b.pub.failed.Load()}
}

// publisher prevents users from closing the driver's publisher.
type publisher struct {
	bus  *Bus
	next message.Publisher

	published, failed atomic.Int64
}

// Publish hands all messages to the transport in one call, so that the transport can send them
// together. If the context of a message has ended, Publish publishes none. A [PublishError]
// gives the result for each message.
func (p *publisher) Publish(topic string, messages ...*message.Message) error {
	if topic == "" {
		return fault.MarkPermanent(errors.New("bus: publish: topic is empty"))
	}
	if len(messages) == 0 {
		return nil
	}
	notSent := func(err error) error {
		return fmt.Errorf("bus: %w", driver.Failed(topic, len(messages), messages[0].UUID, driver.NotSent, err))
	}
	if p.bus.isClosed() {
		return notSent(fault.MarkInfrastructure(ErrClosed))
	}
	for _, m := range messages {
		if ctx := m.Context(); ctx.Err() != nil {
			return notSent(fmt.Errorf("the context of message %s has ended: %w", m.UUID, context.Cause(ctx)))
		}
	}
	err := p.next.Publish(topic, messages...)
	if err == nil {
		p.published.Add(int64(len(messages)))
		return nil
	}
	var known *PublishError
	if errors.As(err, &known) {
		err = fmt.Errorf("bus: %w", err)
	} else {
		outcome := driver.Unknown
		if len(messages) == 1 && fault.Of(err) == fault.Permanent {
			outcome = driver.Refused
		}
		known = driver.Failed(topic, len(messages), messages[0].UUID, outcome, err)
		err = fmt.Errorf("bus: %w", known)
	}
	n := int64(len(known.Unpublished()))
	p.published.Add(int64(len(messages)) - n)
	if errors.Is(err, context.Canceled) {
		return err // a cancellation by the caller says nothing about the transport
	}
	p.failed.Add(n)
	return fault.Mark(err, func(error) fault.Class { return fault.Infrastructure })
}

// Close does nothing: the publisher belongs to the Bus.
func (p *publisher) Close() error { return nil }

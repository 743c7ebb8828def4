package kafkawatermill

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
)

// topics creates topics that are used before they are declared, as the native transport
// does: Watermill's subscriber joins a group of an absent topic, and receives nothing.
type topics struct {
	native busdriver.Driver
	make   bool // autocreate
	known  sync.Map
}

// ensure creates a topic, or reports that it is absent.
func (t *topics) ensure(ctx context.Context, name string, groups ...string) error {
	if _, ok := t.known.Load(name); ok && len(groups) == 0 {
		return nil
	}
	if !t.make {
		switch has, err := t.native.(busdriver.TopicFinder).HasTopic(ctx, name); {
		case err != nil:
			return err
		case !has:
			return fmt.Errorf("topic %s does not exist, and autocreate=false: declare it, or create it with kafka-topics --create --topic %[1]s", name)
		}
	}
	// The group of an existing topic continues where it stopped, or at the earliest message.
	if err := t.native.Declare(ctx, bus.Topic{Name: name, Groups: groups}); err != nil {
		return err
	}
	t.known.Store(name, struct{}{})
	return nil
}

// publisher is Watermill's publisher, for topics that exist.
type publisher struct {
	next   message.Publisher
	topics *topics
	alone  sync.RWMutex // read-locked by calls in flight, locked by a call that must be alone
}

// Publish implements message.Publisher for one message.
func (p *publisher) Publish(topic string, messages ...*message.Message) error {
	if err := p.topics.ensure(messages[0].Context(), topic); err != nil {
		return err
	}
	p.alone.RLock()
	err := p.next.Publish(topic, messages...)
	p.alone.RUnlock()
	if !errors.Is(err, sarama.ErrMessageSizeTooLarge) {
		return err
	}
	// Brokers refuse whole batches; messages of other calls may have made this one too large.
	p.alone.Lock()
	defer p.alone.Unlock()
	return p.next.Publish(topic, messages...)
}

// Close implements message.Publisher.
func (p *publisher) Close() error { return p.next.Close() }

// subscriber is Watermill's subscriber, for topics that exist.
type subscriber struct {
	message.Subscriber
	topics *topics
	group  string
}

// Subscribe implements message.Subscriber.
func (s *subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if err := s.topics.ensure(ctx, topic, s.group); err != nil {
		return nil, err
	}
	return s.Subscriber.Subscribe(ctx, topic)
}

package kafkabus

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"
)

// subscriber takes part in a consumer group. Each Subscribe is a member of it,
// with a client of its own.
type subscriber struct {
	driver *driver
	group  string
	window int

	mu     sync.Mutex
	closed bool
	subs   map[*subscription]struct{}
}

// Subscribe takes part in reading the topic. A new group starts at the earliest
// retained message.
//
// When ctx is done, the intake stops and the channel is closed; what was handed
// over can still be acknowledged until Close. A message's context carries the
// values of ctx and ends with its acknowledgement, with Close, or when its
// partition is lost to another instance.
func (s *subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	out, err := s.subscribe(ctx, topic)
	if err != nil {
		return nil, wrap(err, "subscribe to %s", topic)
	}
	return out, nil
}

func (s *subscriber) subscribe(ctx context.Context, topic string) (_ <-chan *message.Message, err error) {
	if err := s.driver.topics.ensure(ctx, topic); err != nil {
		return nil, err
	}
	instance, free := s.driver.instance(s.group)
	defer func() {
		if err != nil {
			free()
		}
	}()
	conf, err := s.driver.set.member(instance)
	if err != nil {
		return nil, err
	}
	client, err := dial(ctx, s.driver.set.brokers, conf)
	if err != nil {
		return nil, err
	}
	member, err := sarama.NewConsumerGroupFromClient(s.group, client)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Join(errClosed, member.Close(), client.Close())
	}
	s.driver.know(topic, s.group)
	sub := newSubscription(s, topic, client, member)
	s.subs[sub] = struct{}{}
	go func() {
		sub.run(ctx)
		free()
		s.mu.Lock()
		delete(s.subs, sub)
		s.mu.Unlock()
		close(sub.done)
	}()
	return sub.out, nil
}

// instance returns the static name of a new member, which must be unique in the
// group and the same after a restart, and a function that gives it up.
func (d *driver) instance(group string) (name string, free func()) {
	if d.set.Instance == "" {
		return "", func() {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := 1; ; n++ {
		name, taken := fmt.Sprintf("%s-%d", d.set.Instance, n), ""
		if taken = group + "\x00" + name; !d.instances[taken] {
			d.instances[taken] = true
			return name, func() {
				d.mu.Lock()
				delete(d.instances, taken)
				d.mu.Unlock()
			}
		}
	}
}

// Close stops the intake, closes the channels, writes what was acknowledged and
// gives the partitions to the group's other members. It waits for all that, but
// not for acknowledgements.
func (s *subscriber) Close() error {
	s.mu.Lock()
	s.closed = true
	var subs []*subscription
	for sub := range s.subs {
		subs = append(subs, sub)
	}
	s.mu.Unlock()

	errs := make([]error, len(subs))
	var wg sync.WaitGroup
	for i, sub := range subs {
		wg.Go(func() { errs[i] = sub.close() })
	}
	wg.Wait()
	s.driver.mu.Lock()
	delete(s.driver.subscribers, s)
	s.driver.mu.Unlock()
	return errors.Join(errs...)
}

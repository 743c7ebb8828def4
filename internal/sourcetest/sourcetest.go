// Package sourcetest gives tests a transport without the engine: its sources as Watermill
// subscribers, with one goroutine for each message that is out.
package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/wmsource"
)

// Subscriber returns a subscriber of a group, each of whose subscriptions is a source.
func Subscriber(d driver.Driver, group string, window int) message.Subscriber {
	return &subscriber{driver: d, group: group, window: window}
}

// Source returns a source of a driver whose messages go through another subscriber.
func Source(ctx context.Context, d driver.Driver, topic, group string, window int, through func(message.Subscriber) message.Subscriber) (driver.Source, error) {
	return wmsource.Own(ctx, through(Subscriber(d, group, window)), topic)
}

type subscriber struct {
	driver driver.Driver
	group  string
	window int

	mu   sync.Mutex
	subs []*subscription
}

// Subscribe hands the messages over. The end of ctx ends the intake.
func (s *subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	source, err := s.driver.Source(ctx, topic, s.group, s.window)
	if err != nil {
		return nil, err
	}
	intake, end := context.WithCancel(ctx)
	sub := &subscription{source: source, end: end, out: make(chan *message.Message), fed: make(chan struct{}), over: make(chan struct{})}
	s.mu.Lock()
	s.subs = append(s.subs, sub)
	s.mu.Unlock()
	go sub.feed(intake)
	return sub.out, nil
}

// Close counts the answers that were given before.
func (s *subscriber) Close() error {
	s.mu.Lock()
	subs := s.subs
	s.subs = nil
	s.mu.Unlock()
	var errs []error
	for _, sub := range subs {
		errs = append(errs, sub.close())
	}
	return errors.Join(errs...)
}

type subscription struct {
	source   driver.Source
	end      context.CancelFunc
	out      chan *message.Message
	fed      chan struct{} // closed when no more messages are handed over
	over     chan struct{} // closed: no longer wait for answers
	once     sync.Once     // closes over
	watchers sync.WaitGroup
}

func (s *subscription) feed(ctx context.Context) {
	defer close(s.fed)
	defer close(s.out)
	for {
		deliveries, err := s.source.Fetch(ctx, 1)
		if err != nil {
			if errors.Is(err, driver.ErrEnded) { // the transport was closed
				s.once.Do(func() { close(s.over) })
			}
			return
		}
		for _, d := range deliveries {
			from := d.Message()
			m := message.NewMessage(from.ID, bytes.Clone(from.Payload))
			maps.Copy(m.Metadata, from.Metadata)
			mctx, cancel := context.WithCancel(d.Context()) //nolint:govet // every way on calls cancel, watch too
			m.SetContext(mctx)
			select {
			case s.out <- m:
				s.watchers.Go(func() { s.watch(d, m, cancel) })
			case <-mctx.Done():
				cancel()
				d.Back()
			case <-ctx.Done():
				cancel()
				d.Back()
				return
			}
		}
	}
}

func (s *subscription) watch(d driver.Delivery, m *message.Message, cancel context.CancelFunc) {
	defer cancel()
	select {
	case <-m.Acked():
		d.Done()
	case <-m.Nacked():
		d.Back()
	case <-s.over:
		select {
		case <-m.Acked():
			d.Done()
		default:
		}
	}
}

func (s *subscription) close() error {
	s.end()
	<-s.fed
	s.once.Do(func() { close(s.over) })
	s.watchers.Wait()
	return s.source.Close()
}

package bus

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
)

// subscribed makes a source of a Watermill subscriber.
type subscribed struct {
	subscriber message.Subscriber
	shared     bool // Close ends the subscription only
	in         <-chan *message.Message
	cancel     context.CancelFunc
	closing    atomic.Bool
}

// Subscribed makes a source of a topic of a Watermill subscriber, which it owns from then
// on. The subscription lasts until the source is closed, whatever happens to ctx, whose
// values it has.
func Subscribed(ctx context.Context, subscriber message.Subscriber, topic string) (driver.Source, error) {
	s, err := subscribe(ctx, subscriber, topic, false)
	if err != nil {
		return nil, errors.Join(err, subscriber.Close())
	}
	return s, nil
}

func subscribe(ctx context.Context, subscriber message.Subscriber, topic string, shared bool) (*subscribed, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	in, err := subscriber.Subscribe(ctx, topic)
	if err != nil {
		cancel()
		return nil, err
	}
	return &subscribed{subscriber: subscriber, shared: shared, in: in, cancel: cancel}, nil
}

// Fetch is that of [driver.Source].
func (s *subscribed) Fetch(ctx context.Context, most int) ([]driver.Delivery, error) {
	var all []driver.Delivery
	select {
	case m, ok := <-s.in:
		if !ok {
			return nil, driver.ErrEnded
		}
		all = append(all, &handed{message: m, source: s})
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for len(all) < most {
		select {
		case m, ok := <-s.in:
			if !ok {
				return all, nil // the next call says so
			}
			all = append(all, &handed{message: m, source: s})
			continue
		default:
		}
		break
	}
	return all, nil
}

// Close is that of [driver.Source].
func (s *subscribed) Close() error {
	s.closing.Store(true)
	drained := make(chan struct{})
	go func() { // it may be about to hand over its next message
		defer close(drained)
		for m := range s.in {
			m.Nack()
		}
	}()
	var err error
	if !s.shared {
		if err = s.subscriber.Close(); err != nil {
			err = fmt.Errorf("bus: close the subscriber: %w", err)
		}
	}
	s.cancel()
	<-drained
	return err
}

// handed is a message of a Watermill subscriber.
type handed struct {
	message *message.Message
	source  *subscribed
	ctx     context.Context // see Context; nil before the first call
	release func()
}

// Message is that of [driver.Delivery].
func (h *handed) Message() driver.Message {
	return driver.Message{ID: h.message.UUID, Metadata: h.message.Metadata, Payload: h.message.Payload}
}

// Context is that of [driver.Delivery]. The message's own context ends with the
// subscription as well, which is no revocation.
func (h *handed) Context() context.Context {
	if h.ctx != nil {
		return h.ctx
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(h.message.Context()))
	revoke := func() {
		if !h.source.closing.Load() {
			cancel(driver.ErrRevoked)
		}
	}
	stop := func() bool { return true }
	if h.message.Context().Err() != nil {
		revoke()
	} else {
		stop = context.AfterFunc(h.message.Context(), revoke)
	}
	h.ctx, h.release = ctx, func() {
		stop()
		cancel(nil)
	}
	return ctx
}

// Done is that of [driver.Delivery].
func (h *handed) Done() {
	h.message.Ack()
	h.settled()
}

// Back is that of [driver.Delivery].
func (h *handed) Back() {
	h.message.Nack()
	h.settled()
}

func (h *handed) settled() {
	if h.release != nil {
		h.release()
	}
}

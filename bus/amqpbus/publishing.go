package amqpbus

import (
	"context"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// publishing is a channel in confirm mode. One call uses it at a time.
type publishing struct {
	channel *amqp.Channel
	cut     func()
	returns <-chan amqp.Return
	closed  <-chan *amqp.Error
}

// publish sends all and waits for their confirms. It returns the messages that no queue
// accepted, in order.
func (c *publishing) publish(ctx context.Context, exchange string, all []outgoing, limit time.Duration) ([]outgoing, error) {
	confirms := make([]*amqp.DeferredConfirmation, len(all))
	for i, o := range all {
		dc, err := c.channel.PublishWithDeferredConfirm(exchange, o.key, true, false, o.message)
		if err != nil {
			return nil, c.lost(err)
		}
		confirms[i] = dc
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for _, dc := range confirms {
		select {
		case <-dc.Done():
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			return nil, fmt.Errorf("%w within %s", ErrUnconfirmed, limit)
		}
		if dc.Acked() {
			continue
		}
		if c.channel.IsClosed() {
			return nil, c.lost(amqp.ErrClosed)
		}
		return nil, fmt.Errorf("%w: it refused a message", ErrUnconfirmed)
	}
	return c.unroutable(all), nil
}

// unroutable collects the returned messages. The broker returns a message before it
// confirms it, so with the last confirm all returns are here.
func (c *publishing) unroutable(all []outgoing) []outgoing {
	keys := map[string]bool{}
	for {
		select {
		case r, ok := <-c.returns:
			if ok {
				keys[r.RoutingKey] = true
				continue
			}
		default:
		}
		break
	}
	if len(keys) == 0 {
		return nil
	}
	var out []outgoing
	for _, o := range all {
		if keys[o.key] {
			out = append(out, o)
		}
	}
	return out
}

// lost returns the reason why the channel ended.
func (c *publishing) lost(err error) error {
	select {
	case reason := <-c.closed:
		if reason != nil {
			err = reason
		}
	default:
	}
	return fmt.Errorf("%w: the connection was lost: %w", ErrUnconfirmed, err)
}

// discard closes the channel. A broker that does not answer is cut off, because closing
// would wait for it.
func (c *publishing) discard() {
	if c.channel.IsClosed() {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.channel.Close() //nolint:errcheck // it was given up
	}()
	t := time.NewTimer(closeTimeout)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		c.cut()
		<-done
	}
}

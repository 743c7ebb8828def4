package amqpbus

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// publishing is a channel in confirm mode.
type publishing struct {
	conn    *amqp.Connection
	channel *amqp.Channel
	cut     func() // cuts the connection

	// Of the channels that have it:
	calls int  // in flight
	alone bool // the call in flight shares it with no other
	ended bool // it takes no further calls

	mu       sync.Mutex
	returns  <-chan amqp.Return
	closed   <-chan *amqp.Error
	returned []amqp.Return // of calls in flight
	reason   *amqp.Error   // why the channel was closed
}

func newPublishing(conn *amqp.Connection, cut func()) (*publishing, error) {
	ch, err := conn.Channel()
	if err != nil {
		return nil, err
	}
	if err := ch.Confirm(false); err != nil {
		return nil, err
	}
	return &publishing{
		conn: conn, channel: ch, cut: cut,
		// The connection stops when this buffer is full, so it has room for every message that
		// may be in flight.
		returns: ch.NotifyReturn(make(chan amqp.Return, maxUnconfirmed)),
		closed:  ch.NotifyClose(make(chan *amqp.Error, 1)),
	}, nil
}

// publish sends all and waits for their confirms. It returns the messages that no queue
// accepted, in order.
func (c *publishing) publish(ctx context.Context, exchange string, all []outgoing, limit time.Duration) ([]outgoing, error) {
	confirms := make([]*amqp.DeferredConfirmation, len(all))
	for i, o := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
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
			return nil, fmt.Errorf("%w within %s", errUnconfirmed, limit)
		}
		if dc.Acked() {
			continue
		}
		if c.channel.IsClosed() {
			return nil, c.lost(amqp.ErrClosed)
		}
		return nil, fmt.Errorf("%w: it refused a message", errUnconfirmed)
	}
	return c.unroutable(all), nil
}

// unroutable collects the returned messages. The broker returns a message before it
// confirms it, so with the last confirm all returns of the call are here, among those of
// other calls. Equal messages of two calls can stand for each other: each return leads to
// one message published again.
func (c *publishing) unroutable(all []outgoing) []outgoing {
	c.mu.Lock()
	defer c.mu.Unlock()
	for more := true; more; {
		select {
		case r, ok := <-c.returns:
			if more = ok; ok {
				c.returned = append(c.returned, r)
			}
		default:
			more = false
		}
	}
	if len(c.returned) == 0 {
		return nil
	}
	var out []outgoing
	for _, o := range all {
		if i := slices.IndexFunc(c.returned, o.is); i >= 0 {
			c.returned = slices.Delete(c.returned, i, i+1)
			out = append(out, o)
		}
	}
	return out
}

// is reports whether the broker returned this message.
func (o outgoing) is(r amqp.Return) bool {
	return r.RoutingKey == o.key && r.Headers[idHeader] == o.message.Headers[idHeader] && bytes.Equal(r.Body, o.message.Body)
}

// lost returns the reason why the channel ended.
func (c *publishing) lost(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case reason := <-c.closed:
		if reason != nil {
			c.reason = reason
		}
	default:
	}
	if c.reason != nil {
		err = c.reason
	}
	return fmt.Errorf("%w: the connection was lost: %w", errUnconfirmed, err)
}

// discard closes the channel. A broker that does not answer is cut off, because closing
// would wait for it.
func (c *publishing) discard() {
	if c.channel.IsClosed() {
		return
	}
	defer time.AfterFunc(closeTimeout, c.cut).Stop()
	c.channel.Close() //nolint:errcheck // it was given up
}

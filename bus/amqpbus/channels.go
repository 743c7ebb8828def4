package amqpbus

import (
	"slices"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// maxShared is how many small calls share a channel. The broker works less for one channel
	// with 16 calls in flight than for 16 channels: with 64 callers it took a quarter more.
	maxShared = 16
	// A small call has at most so many messages and so many bytes of them.
	smallCount = 16
	smallBytes = 64 << 10
)

// small reports whether a call may share its channel.
func small(all []outgoing) bool {
	size := 0
	for _, o := range all {
		size += len(o.message.Body)
	}
	return len(all) <= smallCount && size <= smallBytes
}

// channels are the open channels of a publisher.
//
// Small calls share a channel; a large call has one alone. The confirms of one call do not
// wait for those of another. If the broker closes a shared channel for a mistake of one call,
// each of its calls is made again on a channel of its own, and only the mistake fails.
type channels struct {
	opening sync.Mutex // calls that come together share the channel that the first of them opens

	mu  sync.Mutex
	all []*publishing
}

// take returns an open channel with room for a call, or nil.
func (c *channels) take(alone bool) *publishing {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(ch *publishing) bool { return ch.calls == 0 && ch.channel.IsClosed() })
	for _, ch := range c.all {
		if ch.ended || ch.alone || ch.calls >= maxShared || alone && ch.calls > 0 || ch.channel.IsClosed() {
			continue
		}
		ch.calls++
		ch.alone = alone
		return ch
	}
	return nil
}

// open opens a channel for a call, unless one has room by now.
func (c *channels) open(conn *amqp.Connection, alone bool, cut func()) (*publishing, error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	if ch := c.take(alone); ch != nil {
		return ch, nil
	}
	ch, err := newPublishing(conn, cut)
	if err != nil {
		return nil, err
	}
	ch.calls, ch.alone = 1, alone
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, ch)
	return ch, nil
}

// put takes a call off its channel. After a failed call the channel takes no further calls.
// It reports whether the caller has to close the channel.
func (c *channels) put(ch *publishing, failed bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch.calls--
	ch.alone = false
	ch.ended = ch.ended || failed
	if !ch.ended || ch.calls > 0 {
		return false
	}
	c.all = slices.DeleteFunc(c.all, func(other *publishing) bool { return other == ch })
	return true
}

package memsse

import (
	"context"
	"slices"
	"sync"

	"github.com/millrace-go/millrace/sse/driver"
)

// broker is a [driver.Broker] for the hubs of one process. It loses nothing.
type broker struct {
	mu        sync.RWMutex
	listeners []*driver.Listener
}

var _ driver.Broker = (*broker)(nil)

// Publish implements [driver.Broker]. It returns when all listeners have the message.
func (b *broker) Publish(ctx context.Context, m driver.Message) error {
	if err := ctx.Err(); err != nil {
		return unasked(err)
	}
	if m.Kind < driver.ToMember || m.Kind > driver.Answer {
		return invalid("a message of the kind %d", m.Kind)
	}
	if size := m.Size(); size > driver.MaxMessage {
		return invalid("a message of %d bytes; at most %d", size, driver.MaxMessage)
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, l := range b.listeners {
		l.Hear(m)
	}
	return nil
}

// Listen implements [driver.Broker].
func (b *broker) Listen(ctx context.Context, l driver.Listener) error {
	b.mu.Lock()
	b.listeners = append(b.listeners, &l)
	b.mu.Unlock()
	l.Up()
	<-ctx.Done()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners = slices.DeleteFunc(b.listeners, func(other *driver.Listener) bool { return other == &l })
	return nil
}

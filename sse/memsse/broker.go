package memsse

import (
	"context"
	"slices"
	"sync"

	"github.com/millrace-go/millrace/sse"
)

// Broker is an [sse.Broker] for the hubs of one process. It loses nothing.
type Broker struct {
	mu        sync.RWMutex
	listeners []*sse.Listener
}

var _ sse.Broker = (*Broker)(nil)

// NewBroker makes a Broker without listeners.
func NewBroker() (*Broker, error) { return &Broker{}, nil }

// Publish implements [sse.Broker]. It returns when all listeners have the message.
func (b *Broker) Publish(ctx context.Context, m sse.Message) error {
	if err := ctx.Err(); err != nil {
		return unasked(err)
	}
	if m.Kind < sse.ToMember || m.Kind > sse.Answer {
		return invalid("a message of the kind %d", m.Kind)
	}
	if size := m.Size(); size > sse.MaxMessage {
		return invalid("a message of %d bytes; at most %d", size, sse.MaxMessage)
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, l := range b.listeners {
		l.Hear(m)
	}
	return nil
}

// Listen implements [sse.Broker].
func (b *Broker) Listen(ctx context.Context, l sse.Listener) error {
	b.mu.Lock()
	b.listeners = append(b.listeners, &l)
	b.mu.Unlock()
	l.Up()
	<-ctx.Done()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners = slices.DeleteFunc(b.listeners, func(other *sse.Listener) bool { return other == &l })
	return nil
}

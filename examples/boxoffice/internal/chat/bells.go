package chat

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/sse/driver"
)

// bells are rooms with new messages. Two bells of a room before a listener reads them
// are one.
type bells struct {
	broker driver.Broker
	feeds  *feeds
	counts *counts

	mu    sync.Mutex
	rooms map[string]struct{}
	wake  signal.Signal
}

func newBells(broker driver.Broker, f *feeds, c *counts) *bells {
	return &bells{broker: broker, feeds: f, counts: c, rooms: map[string]struct{}{}, wake: signal.New()}
}

func (b *bells) ring(room string) {
	b.mu.Lock()
	b.rooms[room] = struct{}{}
	b.mu.Unlock()
	b.wake.Wake()
}

func (b *bells) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := slices.Collect(maps.Keys(b.rooms))
	clear(b.rooms)
	return all
}

// Run notifies every process of the rooms with new messages in this one.
func (b *bells) Run(ctx context.Context) {
	b.wake.Repeat(ctx, func(ctx context.Context) time.Duration {
		for _, room := range b.take() {
			b.send(ctx, room)
		}
		return signal.Never
	})
}

func (b *bells) send(ctx context.Context, room string) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := b.broker.Publish(ctx, driver.Message{Kind: driver.ToRoom, To: room}); err != nil {
		b.counts.unrung.Add(1)
		b.feeds.heard(room) // the own sockets need no broker
	}
}

// listen receives the bells of all processes, of this one too.
func (b *bells) listen(ctx context.Context) error {
	err := b.broker.Listen(ctx, driver.Listener{
		Hear: func(m driver.Message) {
			if m.Kind == driver.ToRoom {
				b.feeds.heard(m.To)
			}
		},
		Up:   b.feeds.heardAll, // some may have been lost
		Down: func() {},        // Config.Look stands in
	})
	if err != nil {
		return fmt.Errorf("chat: listen: %w", err)
	}
	return nil
}

package chat

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
)

// bells are rooms with new messages. Two bells of a room before a listener reads them
// are one.
type bells struct {
	mu    sync.Mutex
	rooms map[string]struct{}
	wake  chan struct{}
}

func newBells() *bells {
	return &bells{rooms: map[string]struct{}{}, wake: make(chan struct{}, 1)}
}

func (b *bells) ring(rooms ...string) {
	if len(rooms) == 0 {
		return
	}
	b.mu.Lock()
	for _, room := range rooms {
		b.rooms[room] = struct{}{}
	}
	b.mu.Unlock()
	nudge(b.wake)
}

func (b *bells) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := slices.Collect(maps.Keys(b.rooms))
	clear(b.rooms)
	return all
}

// nudge wakes the reader of a channel with a buffer of one.
func nudge(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default: // awake already
	}
}

// sendBells notifies every process of the rooms with new messages in this one.
func (c *Chat) sendBells(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.bells.wake:
		}
		for _, room := range c.bells.take() {
			c.sendBell(ctx, room)
		}
	}
}

func (c *Chat) sendBell(ctx context.Context, room string) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := c.broker.Publish(ctx, driver.Message{Kind: driver.ToRoom, To: room}); err != nil {
		c.counts.unrung.Add(1)
		c.feeds.heard(room) // the own sockets need no broker
	}
}

// listener receives the bells of all processes, of this one too.
func (c *Chat) listener() driver.Listener {
	return driver.Listener{
		Hear: func(m driver.Message) {
			if m.Kind == driver.ToRoom {
				c.feeds.heard(m.To)
			}
		},
		Up:   c.feeds.heardAll, // some may have been lost
		Down: func() {},        // Config.Look stands in
	}
}

// alerts wait in order for the live streams.
type alerts struct {
	mu    sync.Mutex
	queue []alert
	max   int
	wake  chan struct{}
}

type alert struct {
	room  string
	event sse.Event
	trace trace.SpanContext // of the message's handler
}

func newAlerts(limit int) *alerts { return &alerts{max: limit, wake: make(chan struct{}, 1)} }

// add reports false when too many wait already.
func (a *alerts) add(one alert) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) >= a.max {
		return false
	}
	a.queue = append(a.queue, one)
	nudge(a.wake)
	return true
}

func (a *alerts) waiting() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.queue)
}

func (a *alerts) take() []alert {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.queue
	a.queue = nil
	return all
}

// sendAlerts sends the alerts of committed messages, once each: the messages
// themselves are stored. At the end it sends the waiting alerts for up to
// sendTimeout.
func (c *Chat) sendAlerts(ctx context.Context) {
	last, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(sendTimeout, done) })()
	for ending := false; !ending; {
		select {
		case <-ctx.Done():
			ending = true
		case <-c.alerts.wake:
		}
		for _, a := range c.alerts.take() {
			c.sendAlert(last, a)
		}
	}
}

func (c *Chat) sendAlert(ctx context.Context, a alert) {
	ctx, cancel := context.WithTimeout(trace.ContextWithRemoteSpanContext(ctx, a.trace), sendTimeout)
	defer cancel()
	if err := c.sender.ToRoom(ctx, a.room, a.event); err != nil {
		c.counts.unsent.Add(1)
		return
	}
	c.counts.toldLive.Add(1)
}

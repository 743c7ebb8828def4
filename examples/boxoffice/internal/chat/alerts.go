package chat

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/sse"
)

// alerts wait in order for the live streams.
type alerts struct {
	streams *streams

	mu    sync.Mutex
	queue []alert
	max   int
	wake  signal.Signal
}

type alert struct {
	room  string
	event sse.Event
	trace trace.SpanContext // of the message's handler
}

func newAlerts(s *streams, limit int) *alerts {
	return &alerts{streams: s, max: limit, wake: signal.New()}
}

// add reports false when too many wait already.
func (a *alerts) add(one alert) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) >= a.max {
		return false
	}
	a.queue = append(a.queue, one)
	a.wake.Wake()
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

// Run sends the alerts of committed messages, once each: the messages
// themselves are stored. At the end it sends the waiting alerts for up to
// sendTimeout.
func (a *alerts) Run(ctx context.Context) {
	last, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(sendTimeout, done) })()
	for ending := false; !ending; {
		select {
		case <-ctx.Done():
			ending = true
		case <-a.wake:
		}
		for _, one := range a.take() {
			a.send(last, one)
		}
	}
}

func (a *alerts) send(ctx context.Context, one alert) {
	ctx = trace.ContextWithRemoteSpanContext(ctx, one.trace)
	if a.streams.told(ctx, func(ctx context.Context, live Sender) error { return live.ToRoom(ctx, one.room, one.event) }) {
		a.streams.counts.toldLive.Add(1)
	}
}

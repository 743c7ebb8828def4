package chat

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/sse"
)

// alerts wait in order for the live streams.
type alerts struct {
	streams *streams
	queue   chan alert
}

type alert struct {
	room  string
	event sse.Event
	trace trace.SpanContext // of the message's handler
}

func newAlerts(s *streams, limit int) *alerts {
	return &alerts{streams: s, queue: make(chan alert, limit)}
}

// add reports false when too many wait already.
func (a *alerts) add(one alert) bool {
	select {
	case a.queue <- one:
		return true
	default:
		return false
	}
}

// Run sends the alerts of committed messages, once each: the messages
// themselves are stored. At the end it sends the waiting alerts for up to
// sendTimeout.
func (a *alerts) Run(ctx context.Context) {
	last, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(sendTimeout, done) })()
	for {
		select {
		case one := <-a.queue:
			a.send(last, one)
		case <-ctx.Done():
			for range len(a.queue) {
				a.send(last, <-a.queue)
			}
			return
		}
	}
}

func (a *alerts) send(ctx context.Context, one alert) {
	ctx = trace.ContextWithRemoteSpanContext(ctx, one.trace)
	if a.streams.told(ctx, func(ctx context.Context, live Sender) error { return live.ToRoom(ctx, one.room, one.event) }) {
		a.streams.counts.toldLive.Add(1)
	}
}

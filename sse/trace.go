package sse

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/internal/otelmsg"
)

// A message of a frame brings the trace context of who sent it in its Arg, which
// frames have no other use for: an instance that does not know of it passes it over.

// traceOf is what goes into Arg: what fits of the context of ctx's span.
func traceOf(ctx context.Context) string { return otelmsg.Pack(otelmsg.From(ctx), MaxMember) }

// delivered follows a message to the streams of this process: its span begins when
// the first of them takes it, and ends when it was written to all, or dropped. A nil
// delivered follows nothing.
type delivered struct {
	hub     *Hub
	message Message
	span    trace.Span
	left    atomic.Int64 // streams that still have it, and whoever hands it out
	streams atomic.Int64
	dropped atomic.Int64
}

// follows makes the delivered of a message, where spans are made.
func (h *Hub) follows(m Message) *delivered {
	if h.tracer == nil {
		return nil
	}
	d := &delivered{hub: h, message: m}
	d.left.Store(1)
	return d
}

// took says that a stream has the message. Only who hands it out calls it.
func (d *delivered) took() {
	if d == nil {
		return
	}
	if d.streams.Add(1) == 1 {
		m := d.message
		ctx := otelmsg.Under(context.Background(), otelmsg.Unpack(m.Arg))
		_, d.span = d.hub.tracer.Start(ctx, trace.SpanKindConsumer, otelmsg.Deliver, m.Event, nil)
		if m.ID != "" {
			d.span.SetAttributes(otelmsg.MessageID.String(m.ID))
		}
	}
	d.left.Add(1)
}

// done says that a stream has it no more.
func (d *delivered) done(written bool) {
	if d == nil {
		return
	}
	if !written {
		d.dropped.Add(1)
	}
	d.release()
}

// release ends the span with the last one.
func (d *delivered) release() {
	if d == nil || d.left.Add(-1) > 0 || d.span == nil {
		return
	}
	streams, dropped := d.streams.Load(), d.dropped.Load()
	d.span.SetAttributes(otelmsg.Streams.Int64(streams), otelmsg.Dropped.Int64(dropped))
	if streams == dropped {
		otelmsg.Fail(d.span, "not_written")
	}
	d.span.End()
}

// doneAll says so of what a writer took.
func doneAll(all *[]*delivered, written bool) {
	if all == nil {
		return
	}
	for _, d := range *all {
		d.done(written)
	}
}

// tracks says that an event that is pending is followed; s.mu is held, as in the
// next two.
func (s *stream) tracks(d *delivered) {
	switch {
	case d == nil:
	case s.traced == nil:
		s.traced = &[]*delivered{d}
	default:
		*s.traced = append(*s.traced, d)
	}
}

// forgetHeld and forgetTraced say that a stream drops what it has.
func (s *stream) forgetHeld() {
	for i := range s.held {
		s.held[i].trace.done(false)
	}
	s.held = nil
}

func (s *stream) forgetTraced() {
	doneAll(s.traced, false)
	s.traced = nil
}

package sse

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/internal/otelmsg"
	"github.com/millrace-go/millrace/sse/driver"
)

// A message of a frame carries the trace context of its sender in its Arg, which frames
// have no other use for, and the event's time behind it. An instance that knows of
// neither passes over them: it reads the time as a broken trace state.

// moment precedes the time, in ms since 1970.
const moment = " @"

// maxMoment is the most bytes that the time takes.
const maxMoment = len(moment) + 14

// originOf is the text of Arg: the span's context as far as it fits, and the time.
func originOf(ctx context.Context, at time.Time) string {
	origin := otelmsg.Pack(otelmsg.From(ctx), driver.MaxMember-maxMoment)
	if ms := at.UnixMilli(); !at.IsZero() && ms > 0 && ms < 1e14 {
		origin += moment + strconv.FormatInt(ms, 10)
	}
	return origin
}

// readOrigin reads a text of originOf; the time is zero when there is none.
func readOrigin(origin string) (trace.SpanContext, time.Time) {
	i := strings.LastIndex(origin, moment)
	if i < 0 {
		return otelmsg.Unpack(origin), time.Time{}
	}
	var at time.Time
	if ms, err := strconv.ParseInt(origin[i+len(moment):], 10, 64); err == nil && ms > 0 {
		at = time.UnixMilli(ms)
	}
	return otelmsg.Unpack(origin[:i]), at
}

// delivered follows a message to the streams of this process: its span begins when the
// first of them takes it, and ends when it was written to all, or dropped. For each
// stream that it is written to, Config.Delivered gets the delay. A nil delivered
// follows nothing.
type delivered struct {
	hub     *Hub
	message driver.Message
	at      time.Time    // the event's time; zero when its delay is not measured
	span    trace.Span   // nil where none are made
	left    atomic.Int64 // streams that still have it, and the one handing it out
	streams atomic.Int64
	dropped atomic.Int64
}

// follows makes the delivered of a message, if spans are made or its delay is measured.
func (h *Hub) follows(m driver.Message) *delivered {
	var at time.Time
	if h.cfg.Delivered != nil {
		_, at = readOrigin(m.Arg)
	}
	if h.tracer == nil && at.IsZero() {
		return nil
	}
	d := &delivered{hub: h, message: m, at: at}
	d.left.Store(1)
	return d
}

// took counts a stream with the message. Only the goroutine handing it out calls it.
func (d *delivered) took() {
	if d == nil {
		return
	}
	if d.streams.Add(1) == 1 && d.hub.tracer != nil {
		m := d.message
		parent, _ := readOrigin(m.Arg)
		ctx := otelmsg.Under(context.Background(), parent)
		_, d.span = d.hub.tracer.Start(ctx, trace.SpanKindConsumer, otelmsg.Deliver, m.Event, nil)
		if m.ID != "" {
			d.span.SetAttributes(otelmsg.MessageID.String(m.ID))
		}
	}
	d.left.Add(1)
}

// done counts a stream that no longer has the message.
func (d *delivered) done(written bool) {
	if d == nil {
		return
	}
	switch {
	case !written:
		d.dropped.Add(1)
	case !d.at.IsZero():
		d.hub.cfg.Delivered(d.message.Event, max(0, time.Since(d.at)))
	}
	d.release()
}

// release ends the span with the last stream.
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

// doneAll calls done for all that a writer took.
func doneAll(all *[]*delivered, written bool) {
	if all == nil {
		return
	}
	for _, d := range *all {
		d.done(written)
	}
}

// tracks follows a pending event; s.mu is held, as in the next two.
func (s *stream) tracks(d *delivered) {
	switch {
	case d == nil:
	case s.traced == nil:
		s.traced = &[]*delivered{d}
	default:
		*s.traced = append(*s.traced, d)
	}
}

// forgetHeld and forgetTraced count a stream's held and pending events as dropped.
func (s *stream) forgetHeld() {
	for i := range s.held {
		s.held[i].trace.done(false)
	}
	s.held, s.heldBytes = nil, 0
}

func (s *stream) forgetTraced() {
	doneAll(s.traced, false)
	s.traced = nil
}

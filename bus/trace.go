package bus

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/otelevent"
	"github.com/millrace-go/millrace/internal/otelmsg"
)

// Outcomes of a delivery in its span.
const (
	outcomeHandled    = "handled"
	outcomeObsolete   = "obsolete"
	outcomeIgnored    = "ignored"
	outcomeRetry      = "retry"
	outcomePause      = "pause"
	outcomeDeadLetter = "dead_letter"
	outcomeHandBack   = "hand_back"
)

// outcomeOf returns the outcome for the verdict of a nack.
func outcomeOf(v verdict) string {
	switch v {
	case pauseAll, afterPause:
		return outcomePause
	case handBack:
		return outcomeHandBack
	case done:
		return outcomeDeadLetter
	default:
		return outcomeRetry
	}
}

// trace starts the span of one delivery, a child of the message's own trace context, and returns
// the handler's context with the span. Without a provider it does nothing.
func (c *consumer) trace(d *delivery, msg *message.Message) context.Context {
	if c.tracer == nil {
		return msg.Context()
	}
	sc, e, ok := otelevent.FromMessage(msg)
	attrs := make([]attribute.KeyValue, 0, 4)
	attrs = append(attrs, otelmsg.MessageID.String(msg.UUID), otelmsg.ConsumerGroup.String(c.Group), otelmsg.Attempt.Int(d.attempts+d.pauses+1))
	if ok && e.CorrelationID != "" {
		attrs = append(attrs, otelmsg.ConversationID.String(e.CorrelationID))
	}
	ctx, span := c.tracer.Start(otelmsg.Under(msg.Context(), sc), trace.SpanKindConsumer, otelmsg.Process, c.Topic, nil, attrs...)
	msg.SetContext(ctx)
	d.span = span
	return ctx
}

// traceBatch starts the span of a batch, with a link to each message's context.
func (c *consumer) traceBatch(ctx context.Context, b *batch, messages []*message.Message) context.Context {
	if c.tracer == nil {
		return ctx
	}
	links := make([]trace.Link, 0, len(messages))
	for _, m := range messages {
		sc, _, _ := otelevent.FromMessage(m)
		if link, ok := otelmsg.Link(sc, m.UUID); ok {
			links = append(links, link)
		}
	}
	ctx, b.span = c.tracer.Start(ctx, trace.SpanKindConsumer, otelmsg.Process, c.Topic, links,
		otelmsg.ConsumerGroup.String(c.Group), otelmsg.BatchCount.Int(len(messages)))
	b.ctx = trace.ContextWithSpan(b.ctx, b.span)
	for _, m := range messages {
		m.SetContext(trace.ContextWithSpan(m.Context(), b.span))
	}
	return ctx
}

// failing records a failure and its class in the span. A wait for another worker is none.
func (d *delivery) failing(err error, class fault.Class) {
	if d.span == nil {
		return
	}
	if class != fault.Busy {
		otelmsg.Fail(d.span, errorType(err, class))
	}
	d.span.SetAttributes(otelmsg.FaultClass.String(class.String()))
}

// finish ends the span of a delivery, before the message is settled.
func (d *delivery) finish(outcome string) {
	if d.span == nil {
		return
	}
	d.span.SetAttributes(otelmsg.Outcome.String(outcome))
	switch outcome {
	case outcomeDeadLetter:
		d.span.SetAttributes(otelmsg.DeadLetterTopic.String(d.letterInfo.DeadLetterTopic))
	case outcomeRetry:
		d.span.SetAttributes(otelmsg.Delay.Float64(d.delay.Seconds()))
	}
	d.span.End()
	d.span = nil
}

// finish ends the span of a batch, with an event for each message that is not done.
func (b *batch) finish(c *consumer) {
	if b.span == nil {
		return
	}
	failed := false
	for _, d := range b.deliveries {
		if d.err == nil {
			continue
		}
		outcome := outcomeOf(d.verdict)
		class := fault.Of(d.err, c.Classifiers...)
		attrs := []attribute.KeyValue{
			otelmsg.MessageID.String(d.source.UUID), otelmsg.Outcome.String(outcome),
			otelmsg.FaultClass.String(class.String()), otelmsg.ErrorType.String(errorType(d.err, class)),
		}
		if outcome != outcomeHandBack {
			attrs = append(attrs, otelmsg.Attempt.Int(d.attempts+d.pauses))
			if !failed && class != fault.Busy {
				otelmsg.Fail(b.span, errorType(d.err, class))
				failed = true
			}
		}
		b.span.AddEvent("message failed", trace.WithAttributes(attrs...))
	}
	b.span.End()
}

// errorType returns one word for an error, from a small set: the error's reason, or its class.
func errorType(err error, class fault.Class) string {
	var reason reasoner
	if errors.As(err, &reason) && reason.FailureReason() != "" {
		return reason.FailureReason()
	}
	var p *panicError
	if errors.As(err, &p) {
		return "panic"
	}
	return class.String()
}

// passOn lets events appended by a handler belong to the event's trace where this process makes
// no spans.
func passOn(ctx context.Context, e event.Event) context.Context {
	if e.TraceParent == "" || otelmsg.From(ctx).IsValid() {
		return ctx
	}
	return otelmsg.Under(ctx, otelevent.FromEvent(e))
}

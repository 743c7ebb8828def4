package bus

import (
	"cmp"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/otelevent"
	"github.com/millrace-go/millrace/internal/otelmsg"
)

// tracedPublisher is the publisher of [NewTracedPublisher].
type tracedPublisher struct {
	next   message.Publisher
	tracer *otelmsg.Tracer
}

// NewTracedPublisher makes a publisher before next, for messages that do not go through an outbox.
// A message without a trace context gets one, as the headers traceparent and tracestate; a message
// that has one keeps it, and the span links to it. The span is a child of the span in the first
// message's context, see message.Message.SetContext. It does no I/O.
//
// provider makes a "send" span for each Publish call. When it is nil, no span is made, and messages
// get the trace context of their own context. system is the messaging.system of the spans, for
// instance [Bus.System]; "unknown" when empty.
func NewTracedPublisher(next message.Publisher, provider trace.TracerProvider, system string) (message.Publisher, error) {
	if next == nil {
		return nil, errors.New("bus: NewTracedPublisher: next is nil; give the publisher to stand before")
	}
	return &tracedPublisher{next, otelmsg.New(provider, "bus", cmp.Or(system, "unknown"))}, nil
}

// System returns the messaging.system of this bus by OpenTelemetry's conventions.
func (b *Bus) System() string { return otelmsg.SystemOf(b.name) }

// Close closes the wrapped publisher.
func (p *tracedPublisher) Close() error { return p.next.Close() }

// Publish implements message.Publisher.
func (p *tracedPublisher) Publish(topic string, messages ...*message.Message) error {
	if len(messages) == 0 {
		return p.next.Publish(topic)
	}
	if p.tracer == nil {
		for _, m := range messages {
			if sc := otelmsg.From(m.Context()); sc.IsValid() {
				if has, _, _ := otelevent.FromMessage(m); !has.IsValid() {
					otelevent.Inject(m, sc)
				}
			}
		}
		return p.next.Publish(topic, messages...)
	}
	span := p.start(topic, messages)
	defer span.End()
	err := p.next.Publish(topic, messages...)
	if err != nil {
		class := fault.Of(err)
		otelmsg.Fail(span, errorType(err, class))
		span.SetAttributes(otelmsg.FaultClass.String(class.String()))
	}
	return err
}

// start starts the span of a call. A message of another trace than the first message's keeps its
// own trace.
func (p *tracedPublisher) start(topic string, messages []*message.Message) trace.Span {
	first := messages[0].Context()
	of := otelmsg.From(first).TraceID()
	links := make([]trace.Link, 0, len(messages))
	var without []*message.Message
	for _, m := range messages {
		sc, _, _ := otelevent.FromMessage(m)
		if own := otelmsg.From(m.Context()); !sc.IsValid() && own.IsValid() && own.TraceID() != of {
			otelevent.Inject(m, own)
			sc = own
		}
		if link, ok := otelmsg.Link(sc, m.UUID); ok {
			links = append(links, link)
		} else {
			without = append(without, m)
		}
	}
	kind, what := trace.SpanKindClient, otelmsg.BatchCount.Int(len(messages))
	if len(without) > 0 {
		kind = trace.SpanKindProducer
	}
	if len(messages) == 1 {
		what = otelmsg.MessageID.String(messages[0].UUID)
	}
	ctx, span := p.tracer.Start(first, kind, otelmsg.Send, topic, links, what)
	for _, m := range without {
		otelevent.Inject(m, otelmsg.From(ctx))
	}
	return span
}

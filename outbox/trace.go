package outbox

import (
	"context"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/eventlog"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/otelevent"
	"github.com/millrace-go/millrace/internal/otelmsg"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/headers"
)

// ownSystem is the messaging.system of an event that no transport has yet.
const ownSystem = "millrace_outbox"

// creation holds the spans of the events of one Append.
type creation []trace.Span

// in sets the trace context of e, unless it has one: that of a new span if spans are made, else
// that of ctx.
func (c *creation) in(ctx context.Context, t *otelmsg.Tracer, topic string, e *event.Event) {
	if e.TraceParent != "" {
		return
	}
	if t != nil {
		var span trace.Span
		ctx, span = t.Start(ctx, trace.SpanKindProducer, otelmsg.Create, topic, nil, about(*e)...)
		*c = append(*c, span)
	}
	if sc := otelmsg.From(ctx); sc.IsValid() {
		e.TraceParent, e.TraceState = otelmsg.Format(sc)
	}
}

// end ends the spans; err is the error of the append.
func (c creation) end(err error) {
	for _, span := range c {
		if err != nil {
			otelmsg.Fail(span, fault.Of(err).String())
		}
		span.End()
	}
}

func about(e event.Event) []attribute.KeyValue {
	attrs := []attribute.KeyValue{otelmsg.MessageID.String(e.ID)}
	if e.CorrelationID != "" {
		attrs = append(attrs, otelmsg.ConversationID.String(e.CorrelationID))
	}
	return attrs
}

// send publishes messages of one topic, under a span if spans are made. The span links to the
// events' own contexts, which the messages keep.
func (r *Relay) send(ctx context.Context, topic string, msgs []*message.Message) error {
	if r.tracer == nil {
		return publish(r.pub, topic, msgs)
	}
	links := make([]trace.Link, 0, len(msgs))
	for _, msg := range msgs {
		sc, _, _ := otelevent.FromMessage(msg)
		if link, ok := otelmsg.Link(sc, msg.UUID); ok {
			links = append(links, link)
		}
	}
	what := otelmsg.BatchCount.Int(len(msgs))
	if len(msgs) == 1 {
		what = otelmsg.MessageID.String(msgs[0].UUID)
	}
	ctx, span := r.tracer.Start(ctx, trace.SpanKindClient, otelmsg.Send, topic, links, what)
	defer span.End()
	for _, msg := range msgs {
		msg.SetContext(ctx)
	}
	err := publish(r.pub, topic, msgs)
	if err != nil {
		class := fault.Of(err, r.cfg.Classifiers...).String()
		otelmsg.Fail(span, class)
		span.SetAttributes(otelmsg.FaultClass.String(class))
	}
	return err
}

// loggedAs returns the ids that identify an item in a log line.
func loggedAs(it *driver.Item) slog.Attr {
	msg := message.NewMessage(it.MessageID, it.Payload)
	var d headers.Decoder
	if err := d.Decode(msg.Metadata, it.Headers, it.Key); err != nil {
		msg.Metadata = message.Metadata{} // then only the message's id is known
	}
	return eventlog.Message(msg)
}

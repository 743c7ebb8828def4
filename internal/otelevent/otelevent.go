// Package otelevent is the W3C trace context of events and messages. It is separate from package
// otelmsg, so that users without messages do not link their packages.
//
//	property                                                      proven by
//	a context comes from the event, in either mode and every
//	binding, or else from the message's headers                   TestFromMessage
//	a message's own context is never overwritten                  TestInjectKeepsWhatThereIs
package otelevent

import (
	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/otelmsg"
)

// Headers of the W3C trace context. A message that is not an event, or an event without a
// context of its own, has them as metadata.
const (
	TraceParent = "traceparent"
	TraceState  = "tracestate"
)

// FromEvent returns the trace context in which an event was made.
func FromEvent(e event.Event) trace.SpanContext { return otelmsg.Parse(e.TraceParent, e.TraceState) }

// FromMessage returns the trace context of a message: that of its event, or else that of its
// headers. It also returns the event, and whether there is one.
func FromMessage(m *message.Message) (sc trace.SpanContext, e event.Event, ok bool) {
	e, err := event.Decode(m)
	if err == nil {
		sc = FromEvent(e)
	}
	if !sc.IsValid() {
		sc = otelmsg.Parse(m.Metadata[TraceParent], m.Metadata[TraceState])
	}
	return sc, e, err == nil
}

// Inject writes a context into the headers of a message that has none.
func Inject(m *message.Message, sc trace.SpanContext) {
	parent, state := otelmsg.Format(sc)
	if parent == "" || m.Metadata[TraceParent] != "" {
		return
	}
	if m.Metadata == nil {
		m.Metadata = message.Metadata{}
	}
	m.Metadata[TraceParent] = parent
	if state != "" {
		m.Metadata[TraceState] = state
	}
}

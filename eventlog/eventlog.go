package eventlog

import (
	"context"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/otelevent"
)

// Names of the attributes.
const (
	eventID       = "event_id"
	correlationID = "correlation_id"
	traceID       = "trace_id"
	spanID        = "span_id"
)

// Event returns an attribute that adds the ids of e to a line. Use it where no context holds
// the event.
func Event(e event.Event) slog.Attr {
	return slog.Attr{Value: slog.GroupValue(eventIDs(nil, e)...)} // a group without a name is inlined
}

// Message is Event for a message that is still encoded. A message that is not an event is
// identified by its UUID.
func Message(m *message.Message) slog.Attr {
	e, err := event.Decode(m)
	if err != nil {
		e = event.Event{ID: m.UUID}
	}
	return Event(e)
}

func eventIDs(to []slog.Attr, e event.Event) []slog.Attr {
	if e.ID == "" {
		return to
	}
	return append(to, slog.String(eventID, e.ID), slog.String(correlationID, correlation(e)))
}

// correlation returns the correlation id of e's children; see [event.Event.CausedBy].
func correlation(e event.Event) string {
	if e.CorrelationID == "" {
		return e.ID
	}
	return e.CorrelationID
}

// ids returns the ids that a context holds.
func ids(ctx context.Context) (found []slog.Attr) {
	e, about := event.FromContext(ctx)
	if about {
		found = eventIDs(make([]slog.Attr, 0, 4), e)
	} else if id := event.Correlation(ctx); id != "" {
		found = append(make([]slog.Attr, 0, 3), slog.String(correlationID, id))
	}
	switch sc := trace.SpanContextFromContext(ctx); {
	case sc.IsValid() && sc.IsRemote(): // this process creates no spans
		return append(found, slog.String(traceID, sc.TraceID().String()))
	case sc.IsValid():
		return append(found, slog.String(traceID, sc.TraceID().String()), slog.String(spanID, sc.SpanID().String()))
	case about:
		if sc = otelevent.FromEvent(e); sc.IsValid() {
			return append(found, slog.String(traceID, sc.TraceID().String()))
		}
	}
	return found
}

package event

import "context"

type (
	requestKey struct{}
	eventKey   struct{}
)

// WithCorrelation returns a request's context with this correlation id: events made in the
// request get the id from [Event.In]. The id has to be text without control characters.
func WithCorrelation(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// NewContext returns a context for handling e: events made in it become children of e by
// [Event.In].
func NewContext(ctx context.Context, e Event) context.Context {
	return context.WithValue(ctx, eventKey{}, e)
}

// FromContext returns the event of [NewContext].
func FromContext(ctx context.Context) (Event, bool) {
	e, ok := ctx.Value(eventKey{}).(Event)
	return e, ok
}

// Correlation returns the correlation id of ctx: that of the event being handled, else that of
// the request, else "".
func Correlation(ctx context.Context) string { return Event{}.In(ctx).CorrelationID }

// In returns e for use in ctx. An event without a correlation id becomes a child of the event
// being handled (see [Event.CausedBy]), or takes the correlation id of the request. An event
// with a correlation id is returned unchanged. An outbox applies In to all events that are
// appended to it.
func (e Event) In(ctx context.Context) Event {
	if e.CorrelationID != "" {
		return e
	}
	if parent, ok := FromContext(ctx); ok && parent.ID != "" {
		return e.CausedBy(parent)
	}
	e.CorrelationID, _ = ctx.Value(requestKey{}).(string)
	return e
}

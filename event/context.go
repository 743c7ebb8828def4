package event

import "context"

type (
	requestKey struct{}
	eventKey   struct{}
)

// WithCorrelation returns a context of a request with this correlation id: events
// that are made in the request get the id by [Event.In]. The id has to be text
// without control characters.
func WithCorrelation(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// NewContext returns a context of handling e: events that are made in it are
// children of e by [Event.In].
func NewContext(ctx context.Context, e Event) context.Context {
	return context.WithValue(ctx, eventKey{}, e)
}

// FromContext returns the event that NewContext was given.
func FromContext(ctx context.Context) (Event, bool) {
	e, ok := ctx.Value(eventKey{}).(Event)
	return e, ok
}

// Correlation returns the correlation id of what ctx works on: that of the event
// that is handled, else that of the request. It is "" when ctx knows neither.
func Correlation(ctx context.Context) string { return Event{}.In(ctx).CorrelationID }

// In returns e as it is made in ctx. An event without a correlation id becomes a
// child of the event that is handled (see [Event.CausedBy]), or takes the
// correlation id of the request. An event that has a correlation id stays as it is.
// An outbox does this with all that is appended.
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

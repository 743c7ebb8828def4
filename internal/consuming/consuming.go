// Package consuming makes the consumer group known inside a consumer's handler. Package bus
// writes it into the handler's context, and package idempotency compares it with the group of a
// guard.
package consuming

import "context"

type key struct{}

// Member is handed out by a consumer, and knows the consumer's group.
type Member interface{ Group() string }

// With returns a context for handling m.
func With(ctx context.Context, m Member) context.Context { return context.WithValue(ctx, key{}, m) }

// From returns the Member of With, nil outside of a handler.
func From(ctx context.Context) Member {
	m, _ := ctx.Value(key{}).(Member)
	return m
}

// Group returns the group of the handler to which ctx belongs, and false where there is no
// handler or its group is not known.
func Group(ctx context.Context) (string, bool) {
	m := From(ctx)
	if m == nil {
		return "", false
	}
	group := m.Group()
	return group, group != ""
}

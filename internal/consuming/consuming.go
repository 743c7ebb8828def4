// Package consuming tells what runs inside a consumer's handler which group the
// consumer belongs to. Package bus writes it into the handler's context, and
// package idempotency compares it with the group of a guard.
package consuming

import "context"

type key struct{}

// Member is what a consumer hands out, with the group of the consumer.
type Member interface{ Group() string }

// With returns a context of handling m.
func With(ctx context.Context, m Member) context.Context { return context.WithValue(ctx, key{}, m) }

// From returns what With was given, nil outside of a handler.
func From(ctx context.Context) Member {
	m, _ := ctx.Value(key{}).(Member)
	return m
}

// Group returns the group whose handler ctx belongs to, and false where there is no
// handler or its group is not known.
func Group(ctx context.Context) (string, bool) {
	m := From(ctx)
	if m == nil {
		return "", false
	}
	group := m.Group()
	return group, group != ""
}

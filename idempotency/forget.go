package idempotency

import "context"

// Forgetter is a [Store] whose keys can be forgotten, so that an operator has events
// handled again. The stores of this module are Forgetters. Where a pre-check stands in
// front of a store ([Layered]), forget the keys in both.
type Forgetter interface {
	Store
	// Recorded counts the keys that are recorded. A key that comes twice counts once.
	Recorded(ctx context.Context, keys []string) (int, error)
	// Forget removes keys, and returns how many were recorded. It spares a key that a
	// running call holds, or waits for the call's outcome. An interrupted Forget has
	// removed some of them; it can be repeated.
	Forget(ctx context.Context, keys []string) (int, error)
}

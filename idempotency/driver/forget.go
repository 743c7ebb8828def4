package driver

import "context"

// Forgetter is a [Store] that can remove keys, so that an operator can have events handled
// again. The stores of this module are Forgetters. If a pre-check is in front of a store
// (idempotency.NewLayered), remove the keys from both.
type Forgetter interface {
	Store
	// Recorded counts the recorded keys. A repeated key counts once.
	Recorded(ctx context.Context, keys []string) (int, error)
	// Forget removes keys, and returns how many were recorded. It either keeps a key that a
	// running call holds, or waits for the call's outcome. An interrupted Forget has removed
	// some of the keys; it can be repeated.
	Forget(ctx context.Context, keys []string) (int, error)
}

// Package driver is the interface between a store and package idempotency, for authors of
// stores of keys.
//
//	fresh, err := store.Once(ctx, driver.Record{Key: "mail:e1", Group: "mail"}, effect)
//
// A [Store] records a key and runs the effect in one transaction. [TxStore], [BatchStore],
// [Forgetter] and [Precheck] are optional abilities of it. A [LeaseStore] claims a key until a
// deadline, for effects outside the database:
//
//	claim, err := store.Claim(ctx, driver.Record{Key: "mail:e1"}, time.Minute)
//	// have the effect
//	err = store.Complete(ctx, claim, result)
//
// Package idempotencytest has the conformance suites, and package memidempotency is an example.
package driver

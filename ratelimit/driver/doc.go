// Package driver is the interface between a store and package ratelimit, for authors of
// stores of budgets. The limiter, in ratelimit, provides the callers' queues, one call of the
// store for many of them, permits and the circuit breaker.
//
//	grant, err := store.Acquire(ctx, plan, driver.Ask{Runs: []driver.Run{{Priority: driver.High, Size: 1, Count: 5}}})
//	err = store.Return(ctx, plan, driver.Returned{Priority: driver.High, Size: 1, At: grant.At})
//
// Package ratelimittest has the conformance suite, and package memratelimit is an example.
package driver

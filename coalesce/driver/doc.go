// Package driver is the interface between a store and package coalesce, for authors of
// stores of locks and versions.
//
//	decision, err := store.Request(ctx, "user-7", driver.High, false, ttls)
//	// refresh, if decision.Mine()
//	end, err := store.Done(ctx, decision.Ticket, ttls)
//
// Package coalescetest has the conformance suite, and package memcoalesce is an example.
package driver

// Package driver is the interface between a store and package queue, for authors of stores.
// A store keeps the lines of all events, and makes each step of them atomically by its own
// clock; a room, in queue, provides snapshots, tickets, estimates, settings and the timing.
//
//	seen, err := store.Visit(ctx, event, rules, driver.Beats{}, []driver.Visit{{Kind: driver.Check, User: "alice"}})
//	turns, err := store.Admit(ctx, event, rules)
//	swept, err := store.Sweep(ctx, event, rules, 0)
//
// [Store] is what every store does. [Drawer] and [Recorder] are optional abilities, which queue
// looks for with a type assertion. Package queuetest has the conformance suite, and package
// memqueue is a store in memory.
package driver

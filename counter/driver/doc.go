// Package driver is the interface between package counter and its stores, for authors of
// stores of deltas, an applier of totals or a source of change rows.
//
//	taken, err := store.Take(ctx, "likes", 500)
//	lease, err := applier.Lease(ctx, "likes", "me", time.Minute)
//	fresh, err := applier.Apply(ctx, lease, driver.Batch{ID: taken[0].ID, Deltas: taken[0].Deltas})
//	err = store.Forget(ctx, "likes", []string{taken[0].ID})
//
// A [Store] holds the deltas of all processes, an [Applier] adds them to the totals, each batch
// once, and a [Source] is the log of change rows that corrects the totals. Package countertest
// has the conformance suites, and package memcounter is an example of all three.
package driver

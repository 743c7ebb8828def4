// Package driver is the interface between a store and package outbox, for authors of
// stores. A store holds the events of an outbox in a database; the relay, in outbox, provides
// publishing, retries, probes, dead letters, leases' renewal and shutdown.
//
//	lease, err := store.Lease(ctx, shard, holder, ttl)
//	batch, err := store.Read(ctx, lease, driver.Query{Limit: 100})
//	// publish batch.Items
//	err = store.Settle(ctx, lease, driver.Settlement{Published: items, Move: batch.Next, TTL: ttl})
//	err = store.Release(ctx, lease)
//
// [Store] is what every store does. The other interfaces are optional abilities, each one or two
// methods, which outbox looks for with a type assertion. Package outboxtest has the conformance
// suite, and a store in memory as an example.
package driver

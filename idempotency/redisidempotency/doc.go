// Package redisidempotency keeps idempotency keys in Redis: as a fast pre-check in front of a
// SQL store, alone if a lost key is tolerable, and with leases for effects outside any
// database.
//
//	store, err := redisidempotency.New(client, redisidempotency.Config{})
//	…
//	layered, err := idempotency.NewLayered(store, truth, idempotency.LayeredConfig{})
//
//	property                                              proven by
//	one effect per key, also among concurrent calls       TestConformance
//	a failing or panicking handler leaves no key          TestConformance
//	a key is kept for its TTL; a crashed handler's for
//	its lease                                             TestTTL, TestCrash
//	a call that lost its lease changes no other's key     TestLeaseRunsOut
//	a command that the client sends twice has one effect  TestRepeatedCommands
//	a call that is cancelled leaves no key                TestCutCommand
//	leases: one holder, growing tokens, takeover          TestLeaseConformance, TestLeaseModel
//	in front of SQL all of SQL's guarantees hold          TestLayeredConformance
//	without Redis: skipped in front of SQL, refused with
//	an infrastructure error alone                         TestRedisDown
//	a restarted server gets the scripts again             TestScriptsAreLoadedAgain
//
// The properties are proven on Redis and on a Redis Cluster. The suites of stores and leases
// pass on miniredis as well (package internal/wholetest/miniredistest). Each script works on
// one key, and pipelines are split over a Cluster's nodes, so no hash tags are needed. Redis'
// own clock decides about leases. The scripts are the files in lua/.
//
// # The meaning of a key
//
// In front of SQL a key means that the effect is committed: Mark is called after the
// commit and never before, Known only reads. A key that Redis lost costs a query of the
// database.
//
// Alone, Once takes the key with SET NX for the length of a lease, and keeps it for
// Config.TTL (7 days) once the handler has returned nil. There is no transaction: the writes of
// a failed handler stay. The effect can happen twice if Redis loses the key (a failover before
// it was replicated, a flush, an eviction), if the process crashes between the effect and the
// mark, or if the process is stopped for longer than its lease. So never use Redis alone for
// money.
//
// # Failure modes
//
// Redis unreachable, slow, loading, read-only or out of memory: every call fails with
// [fault.Infrastructure], and no handler runs. If Redis becomes unreachable while a handler
// runs, the end is retried for the length of a lease. Then Once returns an error although the
// effect has happened, and the redelivery repeats it. Configure Redis with maxmemory-policy
// noeviction, or with a volatile policy if lost keys are tolerable.
package redisidempotency

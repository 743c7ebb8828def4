// Package redisidempotency remembers idempotency keys in Redis: as a fast
// pre-check in front of a SQL store, alone where a lost key is tolerable, and
// with leases for effects outside any database.
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
//	whoever lost its lease does not touch the other's     TestLeaseRunsOut
//	leases: one holder, growing tokens, takeover          TestLeaseConformance, TestLeaseModel
//	in front of SQL all of SQL's promises hold            TestLayeredConformance
//	without Redis: skipped in front of SQL, refused with
//	an infrastructure error alone                         TestRedisDown
//	a restarted server gets the scripts again             TestScriptsAreLoadedAgain
//
// All of it is proven on Redis and on a Redis Cluster. The suites of stores and
// leases pass on miniredis as well (package internal/wholetest/miniredistest). Each script
// works on one key, and pipelines are split over a Cluster's nodes, so no hash
// tags are needed. Redis' own clock decides on leases. The scripts are the files
// in lua/.
//
// # What a key means
//
// In front of SQL a key says that the effect is committed: [Store.Mark] is called
// after the commit and never before, [Store.Known] only reads. A key that Redis
// lost costs a look at the database.
//
// Alone, [Store.Once] takes the key with SET NX for the length of a lease, and
// keeps it for Config.TTL (7 days) once the handler has returned nil. There is
// no transaction: what the handler wrote before it failed stays. The effect can
// happen twice when Redis loses the key (a failover before it was replicated, a
// flush, an eviction), when the process dies between the effect and the mark, or
// when it is stopped for longer than its lease. So it is never the only truth
// for money.
//
// # Failure modes
//
// Redis unreachable, slow, loading, read-only or out of memory: every call fails
// with [fault.Infrastructure], and no handler runs. It goes away while a handler
// works: the end is tried again for the length of a lease, then Once returns an
// error although the effect was had, and the redelivery has it again. Configure
// Redis with maxmemory-policy noeviction, or with a volatile policy and the
// tolerance for it.
package redisidempotency

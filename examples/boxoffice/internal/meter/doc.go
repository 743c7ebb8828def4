// Package meter counts the calls to the upstream by the second and by priority, over
// all processes, for an operator that watches the budget.
//
//	limiter, err := ratelimit.New(store, ratelimit.Config{OnAcquired: m.Count})
//
// Each process counts in memory and adds its counts to a shared store once a second,
// right after the second is over: [NewMemory] for one process, [NewRedis] for many.
// The counts are for people and not for decisions: they are written once and never
// repeated, so that an outage of Redis delays no call.
//
// A second is one of the store's clock, which a process learns each time that it
// writes, to within half a round trip. The counts of a process that has not yet
// reached the store go by its own clock.
//
//	property                                           proven by
//	every call is in the second in which it was made   TestSeconds, TestSecondsGoByTheStore
//	a second has the calls of all processes            TestManyProcesses (memory, Redis, Cluster)
//	nothing is counted twice, nothing is lost          TestConcurrentCounts
//	an outage or a hang of the store delays no call    TestStoreAway, TestStoreHangs, TestRedisAway
//	counts that are not written count as dropped       TestStoreAway, TestRunNotRunning
//	the last second is written at the end              TestLastSecond
//	old seconds leave the store                        TestMemoryForgets, TestRedisForgets
//	all keys of a call have one hash tag               TestManyProcesses/cluster
//
// Failure modes:
//
//   - An outage of the store: the counts of those seconds are lost, and [Meter.Dropped]
//     counts them. [Meter.Series] returns an error.
//   - A write gets no answer: it may have worked, and counts as dropped all the
//     same.
//   - A process is killed: the count of its last second is lost.
//   - A process writes later than a second after a second's end: the second grows
//     when it was already shown.
//   - The store's clock is set: the calls until the next write are counted in a
//     second of the old clock.
package meter

// Package keyed bounds the calls of each of many keys: the requests of an address, the
// attempts of a user. A key that was not used for long may make a burst of calls at
// once, and then one call in each interval.
//
//	limiter, err := keyed.New(store, keyed.Config{}) // nil for one process
//	…
//	if wait := limiter.Take(ctx, "203.0.113.7", time.Second, 20); wait > 0 {
//		// refused: ask again after wait
//	}
//
// Package ratelimit protects an upstream: its budget starts empty, and without its store
// it refuses. This package protects your own server from one caller among many: an
// unknown key starts with its whole burst, and without its store each process counts
// alone. The store is package rediskeyed for many processes, or none. Package metrics
// exports the counts.
//
// # The arithmetic
//
// The state of a key is one time: when its burst is full again. A call moves that time
// on by its interval, and is refused if the time would be further away than its burst
// times the interval (the generic cell rate algorithm of ATM). So a key makes at most
// burst + W/interval calls within any window W, and a key whose time has passed needs no
// state.
//
// # Guarantees
//
//	property                                              proven by
//	burst at once, then one call in each interval         TestLimit, TestAnyWindow
//	a refused call costs the key nothing, and the wait
//	is exact                                              TestLimit, TestAnyWindow
//	keys do not take from each other                      TestLimit
//	many keys share a call of the store, in their order   TestACrowdSharesCalls
//	a refused key costs the store no call until its wait
//	is over                                               TestARefusedKeyCostsNoCall
//	while the store is away each process counts alone,
//	and no caller waits for it twice                      TestStoreAway
//	memory is bounded, by the number of keys and their
//	length: the hash of a key beyond 200 bytes is kept    TestMemoryIsBounded, TestALongKeyIsKeptShort
//
// # Failure modes
//
// The store is away, or slower than Config.Timeout: the process counts alone for a
// second before it asks the store again. With n processes a key then has up to n times
// its limit, and a burst more when the outage begins and when it ends.
//
// A process keeps up to Config.MaxKeys keys of its own. Beyond that it forgets an eighth
// of them, which then have their burst again.
package keyed

// Package memratelimit keeps the state of a rate limit in memory: the budget of
// one process, with the contract of redisratelimit.
//
//	limiter, err := ratelimit.New(memratelimit.New(), ratelimit.Config{Limits: …})
//
//	property                                        proven by
//	all guarantees of a store                       TestConformance
//	a wall clock that is set does not matter        TestClockIsMonotonic
//	it holds in real time, with many callers        TestRealTime
//
// Failure modes: the store is empty when the process starts, and a second process has a second
// budget. If several processes call one upstream, use redisratelimit. A budget in strict mode
// takes 8 bytes for each call of its rates.
package memratelimit

// Package memratelimit keeps the state of a rate limit in memory: the budget of
// one process, with the contract of redisratelimit.
//
//	store, err := memratelimit.New(memratelimit.Config{})
//
//	property                                        proven by
//	all that a store promises                       TestConformance
//	a wall clock that is set does not matter        TestClockIsMonotonic
//	it holds in real time, with many callers        TestRealTime
//
// Failure modes: it starts empty with the process, and a second process has a
// second budget. Where several processes call one upstream, use redisratelimit.
// A budget in strict mode takes 8 bytes for each call of its rates.
package memratelimit

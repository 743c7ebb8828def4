// Package memgate keeps the counters of front gates in memory: those of one
// process, with the contract of redisgate.
//
//	store, err := memgate.New(memgate.Config{})
//
//	property                                        proven by
//	all that a store promises                       TestConformance
//	a wall clock that is set does not matter        TestClockIsMonotonic
//	positions stay dense with many callers at once  TestManyCallers
//
// Failure modes: the counters end with the process, and who waits then is asked to
// get a new position. A second process has a gate of its own; where several serve
// one event, use redisgate or dynamogate. A gate takes about 150 B for as long as
// it is on and 24 h more, whatever the number of those who wait.
package memgate

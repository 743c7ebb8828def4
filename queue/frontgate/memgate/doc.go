// Package memgate keeps the counters of front gates in the memory of one process,
// with the contract of redisgate.
//
//	store, err := memgate.New(memgate.Config{})
//
//	property                                        proven by
//	all that a store promises                       TestConformance
//	setting the wall clock does not matter          TestClockIsMonotonic
//	positions stay dense with concurrent callers    TestManyCallers
//
// Failure modes: the counters end with the process, and the waiting visitors have
// to ask for new positions. A second process has a gate of its own; where several
// processes serve one event, use redisgate or dynamogate. A gate takes about 150 B
// for as long as it is on and 24 h more, whatever the number of waiting visitors.
package memgate

// Package memqueue keeps waiting rooms in memory: those of one process, with the
// contract of redisqueue.
//
//	store, err := memqueue.New(memqueue.Config{})
//
// Who waits stands in blocks of 1,024 arrival numbers, with a bit and a name for
// each, so that counting those ahead adds up the blocks' counts: a million who
// wait are a thousand of them. Each change of a block gets a version and an entry
// in a log, which is what Look reads. Who is inside is in a heap by the end of
// their time. Each event has a lock of its own.
//
//	property                                        proven by
//	all that a store promises                       TestConformance, TestConformanceWhileTimePasses,
//	                                                TestNothingIsMissing
//	answers are those of a plain slice              TestWalks
//	a wall clock that is set does not matter        TestClockIsMonotonic
//	rules and changes that make no sense are told   TestBadRules
//	orders stay within 2^53                         TestOrdersStayInRange
//	what nobody joined leaves nothing behind        TestNobodyLeavesNothing
//
// Failure modes: it starts empty with the process, in another epoch: who comes
// back with a ticket stands where they stood, and nobody enters for Rules.Settle
// after such a ticket came to a young store. A second process has rooms of its
// own; where several serve one event, use redisqueue.
//
// Memory: about 100 bytes for each who waits, and for an event that was joined
// a few kB and a bit for each arrival for as long as the process lives, so let
// nobody choose the names of events. The call that comes after many have expired
// takes all of them out, as many as the threshold at most; no other cost depends
// on who else is there, but that of a place among a crowd: 1.7 µs at a million.
package memqueue

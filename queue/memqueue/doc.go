// Package memqueue keeps waiting rooms in the memory of one process, with the
// contract of redisqueue.
//
//	store, err := memqueue.New(memqueue.Config{})
//
// The waiting users stand in blocks of 1,024 arrival numbers, with a bit and a name
// for each. Counting the users ahead adds up the blocks' counts: a million users
// are a thousand blocks. Each change of a block gets a version and an entry in a
// log, which Look reads. Active users are in a heap by the end of their time. Each
// event has a lock of its own.
//
//	property                                        proven by
//	all that a store promises                       TestConformance, TestConformanceWhileTimePasses,
//	                                                TestNothingIsMissing
//	answers are those of a plain slice              TestWalks
//	setting the wall clock does not matter          TestClockIsMonotonic
//	rules and changes that make no sense fail       TestBadRules
//	orders stay within 2^53                         TestOrdersStayInRange
//	an event without users leaves nothing behind    TestNobodyLeavesNothing
//
// Failure modes: the store starts empty with the process, in another epoch. A user
// that comes back within Rules.Settle, with a ticket that is still valid after the
// restart, has the old position, and no user enters until that time is over: so a
// restart may take a minute, and see [queue.Visit]. A second process has
// rooms of its own; where several processes serve one event, use redisqueue.
//
// Memory: about 100 bytes for each waiting user. An event that was joined takes a
// few kB and a bit for each arrival for as long as the process lives, so do not let
// users choose the names of events. The call that comes after many places have
// expired takes all of them out, as many as the threshold at most. No other cost
// depends on the number of users, except that of a position: 1.7 µs at a million.
package memqueue

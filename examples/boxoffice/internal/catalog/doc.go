// Package catalog holds the shows and their seats.
//
// A seat is AVAILABLE, HOLD or SOLD, and carries the reservation it belongs to
// while it is not available:
//
//	AVAILABLE ──Hold──▶ HOLD ──PaymentSuccess──▶ SOLD
//	    ▲                │                        │
//	    └──ReservationCancelled──┴────────────────┘
//
// Three statements move seats, each conditional on the current state, so their order does
// not matter:
//
//   - Hold takes seats that are AVAILABLE, all or none.
//   - event-payment-consumer marks a reservation's held seats SOLD, unless the
//     reservation is CANCELLED by then.
//   - event-reservation-consumer frees every seat, held or sold, that still
//     carries the cancelled reservation.
//
// A cancellation is final, and the release is handled after the cancellation was
// committed. When the sale comes first, the release frees the sold seats. When the
// cancellation comes first, the sale finds it and does nothing. When the release comes
// first, no seat carries the reservation any more, and a seat that was reserved again
// meanwhile carries another one. A seat is never sold twice, because it must be AVAILABLE
// to get a new reservation and only the release makes it that.
//
// A show says how many of its seats a member may have (package booking). With a Redis, a
// [Mirror] is told of the held seats after each commit (package heldseats).
//
//	property                                              proven by
//	a hold takes all its seats or none                    TestHoldAllOrNone
//	of many holds on one seat, one wins                   TestOneHoldWins
//	a sale after the cancellation sells nothing           TestSoldAfterCancel
//	a release frees sold seats too                        TestReleaseAfterSold
//	a late release leaves the next holder's seat alone    TestReleaseLeavesOthers
//	the sale of the last seats emits one event            TestSoldOut, TestLastSeatsAtOnce
//	readers see their own writes, and share the reading   TestSnapshot
//	… also of a copy that other processes made            TestCopiesAreNotOlderThanOwnChanges
//	a change reaches all processes that share a copy      TestAChangeEvictsTheCopy, app's TestSoldOutEverywhere
//	without the copies the database is read               TestCopiesAway
//
// # Facts
//
// The [Facts] of a show are its time, place, performers and the prices of its classes of
// seats. They are read at most every 30 s. A seat belongs to the class of its price, so
// the page of a show names the real prices. An unknown fact is zero, and a show can be
// sold without it.
//
//	property                                              proven by
//	every seat costs the price of its class               TestFacts
//	an artist has the name that the mirror knows          TestPerformers
//	a show without facts is listed and sold               TestWithoutFacts
//
// Seat plans and counts are read at most once per 20 ms and show, for any number of
// readers, and are at most 100 ms old where another process changed them.
//
// With a Redis, processes share their reads of the shows ([Copies]): a copy lasts for 2 s
// at most, and every change evicts it, so that a show that sells out is sold out
// everywhere within those 100 ms. A process reads the database itself until its own
// changes are evicted, and during an outage of Redis.
package catalog

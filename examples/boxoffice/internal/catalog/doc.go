// Package catalog holds the shows and their seats.
//
// A seat is AVAILABLE, HOLD or SOLD, and carries the reservation it belongs to
// while it is not available:
//
//	AVAILABLE ──Hold──▶ HOLD ──PaymentSuccess──▶ SOLD
//	    ▲                │                        │
//	    └──ReservationCancelled──┴────────────────┘
//
// Three statements move seats, each conditional on what it finds, so their
// order does not matter:
//
//   - Hold takes seats that are AVAILABLE, all or none.
//   - event-payment-consumer marks a reservation's held seats SOLD, unless the
//     reservation is CANCELLED by then.
//   - event-reservation-consumer frees every seat, held or sold, that still
//     carries the cancelled reservation.
//
// A reservation is cancelled for good, and the release is handled after that
// was committed. So when the sale comes first, the release frees what it sold;
// when the cancellation comes first, the sale finds it and does nothing; when
// the release comes first, no seat carries the reservation any more, and a seat
// that meanwhile went to somebody else carries another one. A seat is never
// sold twice, because it must be AVAILABLE to get a new reservation and only
// the release makes it that.
//
// A show says how many of its seats a member may have (package booking). Where there is
// a Redis, a [Mirror] is told of what is held after each commit (package heldseats).
//
//	property                                              proven by
//	a hold takes all its seats or none                    TestHoldAllOrNone
//	of many holds on one seat, one wins                   TestOneHoldWins
//	a sale after the cancellation sells nothing           TestSoldAfterCancel
//	a release frees sold seats too                        TestReleaseAfterSold
//	a late release leaves the next holder's seat alone    TestReleaseLeavesOthers
//	the sale of the last seats is told, once              TestSoldOut, TestLastSeatsAtOnce
//	readers see their own writes, and share the reading   TestSnapshot
//	… also of a copy that other processes made            TestCopiesAreNotOlderThanOwnChanges
//	a change reaches all who share a copy                 TestAChangeEvictsTheCopy, app's TestSoldOutEverywhere
//	without the copies the database is read               TestCopiesAway
//
// # Facts
//
// When and where a show is, who plays, and what a seat of each class costs are its
// [Facts]. They are read at most every 30 s. A seat belongs to the class of its price, so
// what the page of a show names is what a seat costs. A fact that is not known is zero,
// and a show can be sold without it.
//
//	property                                              proven by
//	every seat costs what its class costs                 TestFacts
//	an artist has the name that the mirror knows          TestPerformers
//	a show without facts is listed and sold               TestWithoutFacts
//
// Seat plans and counts are read at most once per 20 ms and show, however many
// ask, and are at most 100 ms old where another process changed them.
//
// Where there is a Redis, processes share what they read of the shows ([Copies]): a
// copy lasts for 2 s at most, and every change evicts it, so that a show that sells out
// is sold out everywhere within those 100 ms. A process reads the database itself as
// long as its own changes are not evicted yet, and while Redis is away.
package catalog

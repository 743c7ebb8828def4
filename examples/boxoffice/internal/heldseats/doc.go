// Package heldseats keeps a copy of the held seats of each show in Redis, where other
// programs can look at them without asking the box office's database:
//
//	> HGETALL hold_seats:show-1
//	A-1 → 0199a7c2-…   the reservation that holds the seat
//
// The database decides about seats. No part of the box office reads the copy to decide
// anything, and a booking neither waits for it nor fails with it.
//
// The copy is a hash, seat → reservation, and no set of seats: a late change then names
// the reservation it is about. The end of an old hold cannot remove a new one, and two
// programs that change the copy at the same time do not undo each other's work. The hash
// expires as a whole (fields cannot before Redis 7.4): a copy that no process repairs any
// more disappears once every hold in it must be over. The prefix of the other keys
// (BOXOFFICE_REDIS_PREFIX) stands before it.
//
// [Mirror.Held] and [Mirror.Freed] are called after the commit of the transaction that
// moved the seats, and return at once; [Mirror.Run] writes. [Mirror.Sweep] compares the
// copy with the database every ten seconds, in one process at a time, and repairs the
// differences. It reads the copy first and then the database: holds that the copy had
// before and the database does not have any more have ended, since a reservation that has
// lost its seats never gets them back.
//
//	property                                                     proven by
//	after a booking, a sale, a release: the copy is the held
//	seats                                                        TestMirror (memory, Redis, Cluster)
//	a copy that was lost or is wrong is repaired by the sweep    TestLostCopy, TestWrongCopy
//	the end of an old hold leaves a new one alone                TestLateChange
//	an outage of Redis: bookings go on, and the copy is right
//	again after it                                               TestRedisAway
//	the changes that wait to be written are bounded              TestBound
//	the copy of a box office that is gone disappears             TestExpiry
//
// Failure modes: during an outage of Redis the copy stays as it was. Changes are dropped,
// and the sweep repairs the copy. A process that is killed loses the changes of its last
// milliseconds, and the sweep repairs the copy too.
package heldseats

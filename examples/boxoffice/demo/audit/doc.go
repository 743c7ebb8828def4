// Package audit compares a box office with its answers to its fans. It waits until
// nothing moves any more, then compares three witnesses that do not know each other:
// the box office's own invariants, the fans' records, and the payment gateway's
// ledger, row by row.
//
//	check                                   broken when                                       proven by
//	came to rest                            work is still open at the deadline                TestAuditFindsWhatIsBroken
//	the office's own invariants             one of them says so                               same
//	reservations are as told                one is missing, has other seats, lost its state,   same
//	                                        or ended before its time; no fan got seats
//	payments are as told                    one is missing, or its outcome was taken back     same
//	paid means ticket or money back         SUCCESS without a CONFIRMED reservation, or kept; same
//	                                        a paid membership that is not ACTIVE
//	no seat promised to two fans            two tickets for one seat                          same
//	no fan above a show's limits            one holds or bought more than the show allows     same
//	no accepted payment came too late       one is refunded that its fan did not give back    same
//	the seat plan is the fans' tickets      a SOLD seat without ticket, or the reverse        same
//	nothing is left open                    PENDING or PROCESSING at rest                     same
//	likes and follows are as told           a like or follow differs from its answer            same
//	every booking is in the inbox once      a confirmed reservation has no notice, or two       same
//	nothing came twice on one stream        a live stream told the same twice                   same
//	what came live is kept                  a stream or the inbox told what is not there now    same
//	comments are as told                    one is missing, is there twice, or was deleted      same, TestPosted
//	comment counts are the comments         a show tells another number than it lists           same
//	chat messages are as told, in order     one is missing or there twice; two of a sender are
//	                                        in another order; a place is left out               same, TestPosted, TestOrderOfMessages
//	ledger: one by one                      a charge without payment, or the reverse          same, TestLedgerCharge
//	ledger: one charge per key              a duplicate key or reference                      same
//	nothing was dead-lettered or parked     an event was given up                             same
//	fans saw nothing odd                    a fan met an answer that must not be              same
//	nobody inside beyond the places         an answer tells of more inside than may be        same
//	let in in order of arrival              one moved back, or a later one was inside before  same, TestOvertaken
//
// A witness that cannot be heard is a broken check, not a skipped one.
package audit

// Package booking holds reservations, and decides every race about them.
//
//	    ┌────────────────── PENDING ──────────────────┐
//	    │ PaymentSuccess                              │ the member cancels     USER_REQUEST
//	    ▼                                             │ PaymentFailed          PAYMENT_FAILED
//	CONFIRMED ──── PaymentRefunded: REFUNDED ───────▶ │ the hold is over       HOLD_TIMEOUT
//	                                                  ▼
//	                                              CANCELLED
//
// Only a conditional update moves a reservation (UPDATE … WHERE status = 'PENDING'):
// when two race, the second finds the row changed. The events of a move are appended to
// the outbox in the same transaction, and nowhere else.
//
//   - Payment against timeout. A payment that was accepted before the hold's end
//     keeps the seats while it is in flight, for at most [Config].PaymentLimit
//     more, and one that has succeeded keeps them until its event is handled: the
//     sweep asks for the payment in its own SQL. Accepting a payment and ending a
//     hold both lock the reservation's row first, so that the second sees the
//     first's result. After the limit the sweep cancels, and a success that finds
//     the reservation CANCELLED asks for its money back with reason LATE. No
//     payment is accepted after the hold's end.
//   - Payment against cancellation. Whichever update comes first wins; a success
//     that comes second is given back, LATE too.
//   - Cancelling a CONFIRMED reservation asks for the refund; the reservation
//     ends when the money is back (PaymentRefunded), so a ticket is never lost
//     without its refund.
//   - Refund before confirmation. Events of a member are handled in order, so
//     PaymentSuccess is handled before PaymentRefunded. Were it parked as a dead
//     letter, the refund would end the PENDING reservation, and a redriven
//     success would find it CANCELLED and its money already back.
//   - Two payments. The database allows one for each reservation.
//   - Transfer against refund. Both take the reservation's row first; a transfer
//     completes only while no refund is requested, and no refund is given for a
//     transferred ticket.
//   - Use against refund and transfer. A scan locks the reservation's row too: a used
//     ticket can be neither refunded nor transferred (package ticket).
//   - Seats follow by events; package catalog explains why they end in the right state.
//
// A member holds at most so many seats of a show at once, and buys at most so many of
// it, those that it holds included: columns of the show, max_held and max_bought, 6 and
// 6. So a member that may hold seats may also buy them, and no payment is in vain. The
// seats are counted from the reservations at each hold, behind the row of the member,
// which each of its holds locks first: twenty holds at once, in any number of
// processes, run one after the other. A bought seat counts until the money is back,
// also when the ticket was transferred: otherwise one member could buy the whole house
// by transferring tickets. A received ticket does not count for the receiver: it takes
// no seat from others, and a gift cannot use up another member's allowance. The limits
// are read at a hold; a show whose limits are lowered takes no seats back.
//
// The singleton that ends holds runs behind a lease, and moves
// reservations only in transactions that also keep that lease.
//
//	property                                                       proven by
//	a payment accepted in time keeps its seats for two minutes,
//	one that succeeded until it is confirmed                       TestPaymentKeepsSeats, TestPaidKeepsSeats
//	… then they are freed, and the money is refunded               TestPaymentLimit, TestSuccessAgainstTimeout
//	a payment is accepted or its hold ended, never both            TestStartAgainstSweep, TestPaymentBetweenLookAndLock
//	after the end no payment is accepted                           TestStartAfterTheEnd
//	a member has no more seats of a show than it allows            TestHeldLimit, TestBoughtLimit, TestLimitsOfAShow
//	… though many holds come at once, to two processes             TestTwentyHoldsAtOnce
//	a refund gives the allowance back                              TestRefundGivesTheAllowanceBack
//	a list costs no more than its 200 reservations                 TestListIsBounded
//	payment against cancellation: the same                         TestSuccessAgainstCancel
//	a failed payment ends the reservation                          TestFailureCancels
//	a cancelled confirmed reservation ends when its refund does    TestCancelConfirmed
//	a refund that arrives first ends in the right state            TestRefundBeforeSuccess
//	unpaid holds end, paid ones do not                             TestSweep, TestFailedKeepsNothing
//	a sweeper that lost its lease moves nothing                    TestSweepFenced
//	an event about an unknown reservation is a permanent error     TestUnknownReservation
//	the member is notified of the end, for each reason             TestSuccessConfirms, TestCancelledNotice
//	… and of a refund of late money                                TestLateMoneyIsTold
package booking

// Package booking holds reservations, and decides every race about them.
//
//	    ┌────────────────── PENDING ──────────────────┐
//	    │ PaymentSuccess                              │ the member cancels     USER_REQUEST
//	    ▼                                             │ PaymentFailed          PAYMENT_FAILED
//	CONFIRMED ──── PaymentRefunded: REFUNDED ───────▶ │ the hold is over       HOLD_TIMEOUT
//	                                                  ▼
//	                                              CANCELLED
//
// Only a conditional update moves a reservation (UPDATE … WHERE status =
// 'PENDING'), so of two that race one finds the row changed. What follows from
// a move is appended to the outbox in the same transaction, and nowhere else.
//
//   - Payment against timeout. A payment that was accepted before the hold's end
//     keeps the seats while it is under way, for at most [Config].PaymentLimit
//     more, and one that has succeeded keeps them until its event is handled: the
//     sweep asks for the payment in its own SQL. To accept a payment, and to end a
//     hold, the reservation's row is locked first, so that one sees what the other
//     did. After the limit the sweep cancels, and a success that finds the
//     reservation CANCELLED asks for its money back with reason LATE. No payment
//     is accepted after the hold's end.
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
//     completes only while no refund is asked for, and no refund is given for a
//     ticket that was handed on.
//   - Use against refund and transfer. The door takes the reservation's row too: what
//     was used can be neither given back nor handed on (package ticket).
//   - Seats follow by events; package catalog says why they end right.
//
// A member holds at most so many seats of a show at once, and buys at most so many of
// it, those that it holds included: columns of the show, max_held and max_bought, 6 and
// 6. So whoever may hold seats may buy them, and nobody pays in vain. The seats are
// counted from the reservations when others are asked for, behind the row of the
// member, which each of its holds locks first: twenty holds at once, in any number of
// processes, come one after the other. What a member bought counts until the money is
// back, also when the ticket was handed on: else one could empty the house by handing
// on. A ticket that was received does not count for the receiver: it takes no seat from
// others, and nobody can use up another member's allowance by gifts. The limits are
// asked for at a hold; a show whose limits are lowered takes no seats back.
//
// The singleton that ends holds runs behind a lease, and moves
// reservations only in transactions that also keep that lease.
//
//	property                                                       proven by
//	a payment accepted in time keeps its seats for two minutes,
//	one that succeeded until it is confirmed                       TestPaymentKeepsSeats, TestPaidKeepsSeats
//	… then they go, and the money goes back                        TestPaymentLimit, TestSuccessAgainstTimeout
//	a payment is accepted or its hold ended, never both            TestStartAgainstSweep, TestPaymentBetweenLookAndLock
//	after the end no payment is accepted                           TestStartAfterTheEnd
//	nobody has more seats of a show than it allows                 TestHeldLimit, TestBoughtLimit, TestLimitsOfAShow
//	… though many holds come at once, to two processes             TestTwentyHoldsAtOnce
//	a refund gives the allowance back                              TestRefundGivesTheAllowanceBack
//	payment against cancellation: the same                         TestSuccessAgainstCancel
//	a failed payment ends the reservation                          TestFailureCancels
//	a cancelled confirmed reservation ends when its refund does    TestCancelConfirmed
//	a refund that arrives first still ends right                   TestRefundBeforeSuccess
//	unpaid holds end, paid ones do not                             TestSweep, TestFailedKeepsNothing
//	a sweeper that lost its lease moves nothing                    TestSweepFenced
//	an event about an unknown reservation is a permanent error     TestUnknownReservation
//	the member is told how it ended, for each reason               TestSuccessConfirms, TestCancelledNotice
//	… and of money that came too late and is back                  TestLateMoneyIsTold
package booking

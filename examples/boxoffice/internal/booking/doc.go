// Package booking holds reservations, and decides every race about them.
//
//	    ┌────────────────── PENDING ──────────────────┐
//	    │ PaymentSuccess                              │ the member cancels     USER_REQUEST
//	    ▼                                             │ PaymentFailed          PAYMENT_FAILED
//	CONFIRMED ──── PaymentRefunded: REFUNDED ───────▶ │ the hold ends          HOLD_TIMEOUT
//	                                                  ▼
//	                                              CANCELLED
//
// Only a conditional update moves a reservation (UPDATE … WHERE status =
// 'PENDING'), so of two that race one finds the row changed. What follows from
// a move is appended to the outbox in the same transaction, and nowhere else.
//
//   - Payment against timeout or cancellation. Whichever update comes first
//     wins. A success that finds the reservation CANCELLED asks for its money
//     back with reason LATE; a timeout that finds it CONFIRMED does nothing. A
//     hold that is over but not yet swept is still PENDING: a payment that was
//     accepted in time may win there.
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
//   - Seats follow by events; package catalog says why they end right.
//
// The singleton that ends unpaid holds runs behind a lease, and moves
// reservations only in transactions that also keep that lease.
//
//	property                                                       proven by
//	payment against timeout: one wins, money goes back if late     TestSuccessAgainstTimeout
//	payment against cancellation: the same                         TestSuccessAgainstCancel
//	a failed payment ends the reservation                          TestFailureCancels
//	a cancelled confirmed reservation ends when its refund does    TestCancelConfirmed
//	a refund that arrives first still ends right                   TestRefundBeforeSuccess
//	unpaid holds end, paid ones do not                             TestSweep
//	a sweeper that lost its lease moves nothing                    TestSweepFenced
//	an event about an unknown reservation is a permanent error     TestUnknownReservation
//	the member is told how it ended                                TestSuccessConfirms, TestCancelledNotice
package booking

// Package payment takes money through the payment gateway and gives it back,
// and holds what is paid for beside reservations: transfers and memberships.
//
//	POST /api/payments ──▶ PROCESSING ──approved──▶ SUCCESS ──refunded──▶ REFUNDED
//	                           │                    (refund REQUESTED)
//	                           └──declined──▶ FAILED
//
// A payment is written before the gateway hears of it, under the key that the
// client chose, which is unique in the database and is the gateway's key too.
// So whatever is repeated, by the client, by us after a crash or by two of us
// at once, is one charge.
//
// The executor claims payments that are due (a new charge, or a refund that was
// asked for) under a lease, calls the gateway outside any transaction, and
// writes the outcome together with its event in one. No answer in time means
// that the outcome is not known: the payment stays PROCESSING, and the next
// attempt first asks the gateway what became of the charge, again and again
// with growing pauses, until it says so. A process that dies anywhere leaves
// the lease to run out; whoever claims the payment next asks in the same way.
// The outcome is written by UPDATE … WHERE status = 'PROCESSING', so a holder
// that was late changes nothing.
//
// # Transfers
//
// A ticket is handed on with the receiver's consent:
//
//	POST /api/transfers ─▶ OFFERED ──accepted──▶ ACCEPTED ──paid──▶ COMPLETED
//	                          │                     │
//	                          └─ DECLINED, WITHDRAWN, EXPIRED, LATE ┴─ PAYMENT_FAILED, LATE: CANCELLED
//
// The sender's payment is written with the offer and is not due until the receiver
// accepts; then it is charged as any other. An offer that is not accepted within
// [OfferLasts] falls due as well, and the executor ends it. Each decision is made under
// the lock of the reservation, which a refund and the door take too, so of several at
// once one happens. A payment whose offer ends is FAILED with a reason that begins with
// [OfferEnded]: the gateway never hears of it.
//
// A card number is never written down: the gateway is simulated and knows three
// test cards, and what is kept is which of them it was.
//
//	property                                                          proven by
//	same key and request: the first payment; another request: refused TestKey
//	of many posts with one key, one payment and one charge            TestConcurrentPosts
//	a reservation is paid for once, whatever the keys                 TestOnePaymentEach
//	approved, declined and timed-out charges settle                   TestOutcomes
//	a crash before or after the call makes one charge                 TestCrash
//	two executors at once make one charge and one event               TestTwoExecutors
//	an unreachable gateway delays, and decides nothing                TestGatewayDown
//	refunds are asked for once and carried out once                   TestRefund
//	no charge and no handing on without the receiver's consent        TestConsent, TestNoConsentNoTicket
//	of accepting, declining, withdrawing and running out, one happens TestOneDecision
//	an offer that ends costs nothing                                  TestDeclineAndWithdraw, TestOfferExpires, TestAcceptTooLate
//	transfers and memberships complete or give the money back         TestTransfer, TestTransferTooLate, TestMembership
//	no card number reaches the database                               TestNoCardNumber
//
// Failure modes: a gateway that is away leaves payments PROCESSING, and their
// reservations end two minutes after their hold; what it approves later is refunded. A
// gateway that refuses a charge as invalid fails the payment.
package payment

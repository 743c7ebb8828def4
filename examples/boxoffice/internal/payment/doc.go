// Package payment takes money through the payment gateway and refunds it, and holds the
// purchases beside reservations: transfers and memberships.
//
//	POST /api/payments ──▶ PROCESSING ──approved──▶ SUCCESS ──refunded──▶ REFUNDED
//	                           │                    (refund REQUESTED)
//	                           └──declined──▶ FAILED
//
// A payment is written before the gateway hears of it, under the key that the client
// chose, which is unique in the database and is the gateway's key too. So any
// repetition, by the client, by us after a crash or by two of us at once, is one
// charge.
//
// The executor claims due payments (a new charge, or a requested refund) under a lease,
// calls the gateway outside any transaction, and writes the outcome together with its
// event in one. No answer in time means that the outcome is not known: the payment
// stays PROCESSING, and the next attempt first asks the gateway for the state of the
// charge, with growing pauses, until it answers. If a process dies at any point, its
// lease expires; the next process that claims the payment asks in the same way. The
// outcome is written by UPDATE … WHERE status = 'PROCESSING', so a late holder changes
// nothing.
//
// # Transfers
//
// A ticket is transferred with the receiver's consent:
//
//	POST /api/transfers ─▶ OFFERED ──accepted──▶ ACCEPTED ──paid──▶ COMPLETED
//	                          │                     │
//	                          └─ DECLINED, WITHDRAWN, EXPIRED, LATE ┴─ PAYMENT_FAILED, LATE: CANCELLED
//
// The sender's payment is written with the offer and is not due until the receiver
// accepts; then it is charged as any other. An offer that is not accepted within
// [OfferLasts] falls due as well, and the executor ends it. Each decision is made under
// the lock of the reservation, which a refund and a scan take too, so of several at
// once one happens. A payment whose offer ends is FAILED with a reason that begins with
// [OfferEnded]: the gateway never hears of it.
//
// A card number is never stored: the gateway is simulated and knows three test cards,
// and a payment has the name of one.
//
//	property                                                          proven by
//	same key and request: the first payment; another request: refused TestKey
//	of many posts with one key, one payment and one charge            TestConcurrentPosts
//	a reservation is paid for once, with any keys                     TestOnePaymentEach
//	approved, declined and timed-out charges settle                   TestOutcomes
//	a crash before or after the call makes one charge                 TestCrash
//	two executors at once make one charge and one event               TestTwoExecutors
//	locked payments are looked at once in a while                     TestClaimOfLocked
//	an unreachable gateway delays, and decides nothing                TestGatewayDown
//	a question that it refuses decides nothing either                 TestRefusedQuestion
//	the charge of another request under the key pays nothing          TestChargeOfAnotherRequest
//	a key that is in use at the gateway decides nothing               TestKeyInUse
//	an answer about another key decides nothing                       TestAnswerOfAnotherKey
//	texts of the gateway, however long, delay no outcome              TestGatewayTexts
//	refunds are asked for once and carried out once                   TestRefund, TestRefundOfKeyOfDots
//	no charge and no transfer without the receiver's consent          TestConsent, TestNoConsentNoTicket
//	of accepting, declining, withdrawing and expiring, one happens    TestOneDecision
//	an offer that ends costs nothing                                  TestDeclineAndWithdraw, TestOfferExpires, TestAcceptTooLate
//	transfers and memberships complete or are refunded                TestTransfer, TestTransferTooLate, TestMembership
//	a redelivery past the guard refunds no completed transfer         TestTransferPaidAgain
//	no card number reaches the database                               TestNoCardNumber
//
// Failure modes: during an outage of the gateway payments stay PROCESSING, and their
// reservations end two minutes after their hold; a charge that the gateway approves
// later is refunded. A gateway that refuses a charge as invalid fails the payment.
package payment

// Package gateway simulates the external payment provider of the box office: a
// service of its own, with its own durable ledger, that the box office knows
// only over HTTP. It outlives crashes of the box office, so its ledger is the
// witness that no payment was applied twice or lost.
//
//	route                        answer
//	POST /charges                {amount, currency: "KRW", card, reference} with an Idempotency-Key header → the charge
//	GET  /charges/{key}          the charge; 404 when the key was never charged
//	POST /charges/{key}/refund   the charge with refunded: true, also when it was refunded before; 409 when it is not approved
//	GET  /ledger                 totals of one moment
//	GET  /ledger/charges         every charge, oldest first: ?after=<next of the page before>&limit=<1 to 1000, 100>
//	GET  /healthz                200 while the ledger can be read
//
// The card decides the outcome:
//
//	4242424242424242   approved
//	4000000000000002   declined, reason "card_declined"
//	4000000000000341   accepted as PENDING; the connection is held until the
//	                   client disconnects (at most [HoldFor]); settles as APPROVED
//	                   after SettleAfter by itself
//	any other          422
//
// A box office waits for a decision for at most two minutes after the end of a hold
// (BOXOFFICE_PAYMENT_SECONDS): a SettleAfter beyond that shows payments that come too
// late.
//
// Half of the simulated latency passes before the ledger is written and half after
// it: a client that dies meanwhile leaves either no charge or a charge whose answer
// it never saw, as with a real provider. The ledger accepts a charge even if the
// client disconnects.
//
//	property                                                        proven by
//	one charge per key, under concurrent repeats                    TestConcurrentRepeatsChargeOnce
//	same key and same request: the same charge                      TestRepeatAnswersTheFirstCharge
//	same key and another request: 409, nothing is charged           TestKeyReuseIsRefused
//	a timed-out charge settles without a request                    TestPendingSettlesByItself
//	… and across a restart                                          TestPendingSettlesAfterRestart
//	a held connection ends after 30 s, or when the service stops    TestHeldConnectionIsBounded, TestRunEndsHeldConnections
//	refunds are idempotent and only for approved charges            TestRefund
//	bad input is a clear error and charges nothing                  TestBadInput
//
// Failure modes: a ledger that cannot be written answers 503 and charges
// nothing; the caller repeats with the same key. A caller that got no answer
// must ask GET /charges/{key}, or repeat, before it calls the payment failed.
package gateway

// Package idempotency gives every event one effect, although it is delivered
// at least once: again after a crash, after a lost acknowledgement, by two
// consumers at the same moment. And it gives every HTTP request that carries an
// Idempotency-Key one effect, however often its client sends it.
//
// A [Guard] stands around a handler. It records the event's key first and runs
// the handler only when the key is new. With a SQL store (package
// sqlidempotency) the key and what the handler writes are one transaction, so
// that either both are there or neither is:
//
//	guard, err := idempotency.New[*sql.Tx](store, idempotency.Config{Group: "stats-service-group"})
//	…
//	err = runner.Add(bus.Consumer{
//		Topic: "payment.events", Group: "stats-service-group",
//		Guarded: guard.Handle(func(ctx context.Context, tx *sql.Tx, e event.Event) error {
//			_, err := tx.ExecContext(ctx, `UPDATE sales SET tickets = tickets + 1`)
//			return err
//		}),
//	})
//
// The handler gets the transaction that the key is part of as an argument. [New] fails
// on a store that carries no such transaction. [Guard.ByType] has a function for each
// type of event, and [Guard.HandleBatch] hands over many events: their keys are
// claimed in one statement, and the new ones are handled in one transaction.
// [Handler.HandleMessage] is a handler for Watermill's own Router. [Guard.Do] and
// [Guard.DoBatch] are the same for code of any other shape.
//
//	property                                             sql   memory   redis   proven by (package idempotencytest)
//	a handled key is skipped                             yes   yes      yes     fresh-then-duplicate
//	a handler that fails or panics leaves no key         yes   yes      yes     error-leaves-no-key, panic-leaves-no-key
//	… and no effect                                      yes   -        -       the same
//	concurrent duplicates: one effect; the second waits,
//	and takes over when the first fails                  yes   yes      yes     concurrent-one-effect, concurrent-takeover, storm
//	a key recorded means the effect is committed         yes   -        -       transaction-in-context, outer-rollback
//	an outer sqltx.Do commits key, effect and its own
//	work together                                        yes   -        -       outer-commit, outer-rollback
//	a conflict of transactions runs the handler again,
//	in a new one; its effect stays one                   yes   -        -       TestCrossedHandlers, TestHandlerIsRunAgain
//	                                                                           (package sqlidempotency)
//	the handler's error comes back unchanged             yes   yes      yes     error-is-kept
//	a batch: one statement, the new keys in their order  yes   yes      -       batch-picks-the-new, batch-large
//	… all of it or nothing                               yes   yes      -       batch-all-or-nothing, batch-storm, batch-takeover
//	the transaction is handed to the handler             yes   -        -       TestHandlersGetTheTransaction, TestHandleBatch
//	                                                                           (package idempotency)
//	a store without the handler's transaction is refused yes   yes      yes     TestStoresWithoutTheTransactionAreRefused,
//	                                                                           TestNoHandlerGetsANilTransaction
//	a guard of another group is refused when its consumer
//	is added, or pauses the consumer                     yes   yes      yes     TestAGuardOfAnotherGroupIsRefused,
//	                                                                           TestAHiddenGuardOfAnotherGroupPauses (package bus)
//	pruning keeps what is newer                          yes   yes      TTL     prune-keeps-newer, prune-in-chunks
//	a forgotten key is new, other keys stay              yes   yes      yes     forgotten-keys-are-new, forget-many
//
// # Which store
//
// The Tx of a guard is *sql.Tx with sqlidempotency, and [NoTx] where the effect is no
// row of the database that has the key.
//
//	effect                                       store
//	rows in a database                           sqlidempotency.New on that database
//	the same, and many duplicates come           NewLayered(redisidempotency.New, sqlidempotency.New)
//	a call of another service, a mail            NewLeases(sqlidempotency.NewLeases)
//	something that may happen twice now and then redisidempotency.New, or NewLeases on Redis
//	tests                                        memidempotency
//
// Redis alone is never the only truth for money: it can lose the newest keys in
// a failover, and all of them when it is flushed. In front of SQL it decides
// nothing: [Layered] only reads from it before the effect, and writes to it after
// the effect's commit. A mark before the commit would turn a rollback into a
// lost event.
//
// # Leases
//
// An effect outside the database cannot commit together with its key. [Leases]
// claims the key until a deadline, renews it while the work lasts, and then
// completes it with a result or releases it. After a crash the deadline passes
// and another worker takes over. Each claim has a fencing token above all
// earlier ones of its key: hand it on with the effect, and let its owner refuse
// a lower one than it has seen. A worker that was stopped for longer than its
// lease, and does not know it, is told by [ErrLeaseLost] at the latest when it
// completes; its context ends before that if its own clock runs.
//
//	property                                              proven by (package idempotencytest)
//	one holder at a time, by the store's clock            one-winner, deadline-by-the-clock
//	a crash lets another take over after the deadline     takeover-after-deadline
//	… which gets the event then, however few its retries  TestLeasesOfADeadProcess of bus
//	… and nothing the first one does counts any more      takeover-after-deadline, ends-once
//	tokens grow, also over releases and pruning           tokens-grow
//	an end whose answer was lost can be repeated          repeated-end
//	the lease is renewed while the work lasts             TestLeasesRenew
//	work is told when its lease is lost                   TestLeasesLost
//	a random history agrees with a model of the rules     TestLeaseModel, on every store
//
// # HTTP
//
// [HTTP] is a middleware for draft-ietf-httpapi-idempotency-key-header, on a
// lease store:
//
//	request                                        answer                                              proven by
//	a new key                                      the handler's, kept unless it is 5xx, 408, 425, 429 TestHTTPKeepsFinalResponses
//	the same key and request                       the kept status, headers and body, with             TestHTTPReplays
//	                                               Idempotency-Replayed: true
//	the same key, while the first is running       409 idempotency-key-in-use, Retry-After             TestHTTPRunningAndCrashed, http-herd
//	the same key, another request                  422 idempotency-key-reused                          TestHTTPRefusesAnotherRequest
//	a kept response was too large                  409 response-not-kept; not handled again            TestHTTPBounds
//	no key where one is required                   400 idempotency-key-missing                         TestHTTPKeys
//	a key that cannot be read                      400 idempotency-key-invalid                         TestHTTPKeys
//	a body above MaxRequest                        413 too-large                                       TestHTTPBounds
//	the store is away                              503 unavailable, Retry-After; nothing is done       TestHTTPStoreAway
//
// Problems are application/problem+json; the names above follow
// HTTPConfig.Problems in their type. Two requests are the same when method, path,
// query, content type and body are. After a crash the key is free at its
// deadline, and a repeated request is handled again: where the handler writes a
// database, let its transaction record the claim's key ([ClaimFrom]) in a store
// of package sqlidempotency, so that it is not done twice. Prune the leases after
// a day or so; a key that was pruned is new.
//
// # Keys
//
// [ByEvent] makes {group}:{eventId}, [ByAggregate] {group}:{aggregateType}:{aggregateId}:{action},
// for effects that must happen once per aggregate whatever event asks for it.
// Any [KeyFunc] serves. Keys are compared byte by byte.
//
// # Retention
//
// A key must outlive every redelivery of its event. The horizon is the longest
// of: how long the broker retains the topic (a new or reset consumer group
// reads it all again), how long the outbox keeps rows that a rebased relay
// publishes again, and how long a dead letter may wait before somebody redrives
// it. A [Pruner] keeps 30 days by default, and deletes in chunks; Redis forgets
// by itself, 7 days after the effect, so alone it is for topics that are
// retained for less. An event that arrives after its key was pruned is handled
// again.
//
// # Metrics
//
// [Guard.Stats], [Leases.Stats] and [HTTP.Stats] count what happened in this process;
// package idempotencyprom makes metrics of them.
//
// # Failure modes
//
// The database is away: Do fails with the driver's error, the handler does not
// run, and the message comes back (a consumer pauses when a classifier calls
// that error infrastructure). COMMIT fails with an unknown outcome: Do returns
// the error; the redelivery finds the key when it was committed and runs the
// handler when it was not. Redis is away: in front of SQL it is skipped, alone
// it refuses with an infrastructure error. Effects outside the transaction (a
// mail, another database, a payment gateway) are not covered by a Guard: they
// can happen again when the transaction then fails. Use Leases for them, or give
// them the event's id as their own idempotency key.
package idempotency

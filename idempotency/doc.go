// Package idempotency gives every event one effect, although the event is delivered at least
// once: again after a crash, after a lost acknowledgement, or by two consumers at the same
// moment. It also gives every HTTP request with an Idempotency-Key one effect, however often
// its client sends the request.
//
// A [Guard] wraps a handler. It records the event's key first and runs the handler only when
// the key is new. With a SQL store (package sqlidempotency) the key and the handler's writes
// are one transaction, so they commit together or not at all:
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
// The handler gets the transaction of the key as an argument. [New] fails on a store without
// such a transaction. [Guard.ByType] has a function for each type of event. [Guard.HandleBatch]
// handles many events: one statement claims their keys, and one transaction handles the new
// ones. [Handler.HandleMessage] is a handler for Watermill's own Router. [Guard.Do] and
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
//	the handler's error is returned unchanged            yes   yes      yes     error-is-kept
//	a batch: one statement, the new keys in their order  yes   yes      -       batch-picks-the-new, batch-large
//	… all of it or nothing                               yes   yes      -       batch-all-or-nothing, batch-storm, batch-takeover
//	the transaction is handed to the handler             yes   -        -       TestHandlersGetTheTransaction, TestHandleBatch
//	                                                                           (package idempotency)
//	a store without the handler's transaction is refused yes   yes      yes     TestStoresWithoutTheTransactionAreRefused,
//	                                                                           TestNoHandlerGetsANilTransaction
//	a guard of another group is refused when its consumer
//	is added, or pauses the consumer                     yes   yes      yes     TestAGuardOfAnotherGroupIsRefused,
//	                                                                           TestAHiddenGuardOfAnotherGroupPauses (package bus)
//	pruning keeps newer keys, by the database's clock    yes   yes      TTL     prune-keeps-newer, prune-in-chunks;
//	                                                                           sqlidempotency: TestAgeIsByTheDatabasesClock
//	a forgotten key is new, other keys stay              yes   yes      yes     forgotten-keys-are-new, forget-many
//
// # Which store
//
// The Tx of a guard is *sql.Tx with sqlidempotency. It is [NoTx] if the effect is not a row of
// the key's database.
//
//	effect                                       store
//	rows in a database                           sqlidempotency.New on that database
//	the same, with many duplicates               NewLayered(redisidempotency.New, sqlidempotency.New)
//	a call of another service, an email          NewLeases(sqlidempotency.NewLeases)
//	an effect that may sometimes happen twice    redisidempotency.New, or NewLeases on Redis
//	tests                                        memidempotency
//
// Never use Redis alone for money: it can lose the newest keys in a failover, and all of them
// in a flush. In front of SQL, Redis decides nothing: [NewLayered] only reads from it before the
// effect, and writes to it after the effect's commit. A mark before the commit would turn a
// rollback into a lost event.
//
// # Leases
//
// An effect outside the database cannot commit together with its key. [Leases] claims the key
// until a deadline, renews the claim while the work lasts, and then completes it with a result
// or releases it. After a crash the deadline passes and another worker takes over. Each claim
// has a fencing token above all earlier ones of its key: pass the token on with the effect, and
// let the other side refuse a lower token than it has seen. A worker that was stopped for
// longer than its lease, without knowing it, gets [ErrLeaseLost] at the latest when it
// completes; its context ends before that if its own clock runs.
//
//	property                                              proven by (package idempotencytest)
//	one holder at a time, by the store's clock            one-winner, deadline-by-the-clock
//	a crash lets another take over after the deadline     takeover-after-deadline
//	… which then gets the event, however few its retries  TestLeasesOfADeadProcess of bus
//	… and no later call of the first one counts           takeover-after-deadline, ends-once
//	tokens grow, also over releases and pruning           tokens-grow
//	an end can be repeated when its answer was lost       repeated-end
//	a caller that leaves during its claim frees the key   TestLeasesOfACutClaim
//	the lease is renewed while the work lasts             TestLeasesRenew
//	the work's context ends when its lease is lost        TestLeasesLost
//	a random history agrees with a model of the rules     TestLeaseModel, on every store
//
// # HTTP
//
// [HTTP] is a middleware for draft-ietf-httpapi-idempotency-key-header, on a
// lease store:
//
//	request                                        answer                                              proven by
//	a new key                                      the handler's, kept unless it is 5xx, 408, 425, 429 TestHTTPKeepsFinalResponses
//	the same key and request                       the kept status, headers and body, with             TestHTTPReplays, TestHTTPReplaysEncodedBodies
//	                                               Idempotency-Replayed: true                          TestHTTPLateHeaders
//	… if the handler ended without a response,     handled again                                       TestHTTPBrokenOff
//	because its client had left
//	the same key, while the first is running       409 idempotency-key-in-use, Retry-After             TestHTTPRunningAndCrashed, http-herd
//	the same key, another request                  422 idempotency-key-reused                          TestHTTPRefusesAnotherRequest,
//	                                                                                                   TestHTTPRefusesAnotherForm
//	a kept response was too large                  409 response-not-kept; not handled again            TestHTTPBounds
//	no key where one is required                   400 idempotency-key-missing                         TestHTTPKeys
//	an invalid key                                 400 idempotency-key-invalid                         TestHTTPKeys
//	a body above MaxRequest                        413 too-large                                       TestHTTPBounds
//	the store is unreachable                       503 unavailable, Retry-After; not handled           TestHTTPStoreAway
//
// Problems are application/problem+json; in their type, the names above follow
// HTTPConfig.Problems. Two requests are the same if method, path, query, content type and body
// are equal. A form that a middleware outside has parsed counts as the body. After a crash the
// key is free at its deadline, and a repeated request is handled again. If the handler writes to a
// database, let its transaction record the claim's key ([ClaimFrom]) in a store of package
// sqlidempotency, so that it writes only once. Prune the leases after about a day; a pruned key is
// new.
//
// # Keys
//
// The default is {group}:{eventId}. [ByAggregate] makes
// {group}:{aggregateType}:{aggregateId}:{action}, for effects that must happen once per
// aggregate, however many events ask for them. Config.Key can be a function of your own. Keys are
// compared byte by byte.
//
// # Retention
//
// A key must outlive every redelivery of its event. The horizon is the longest of: how long the
// broker retains the topic (a new or reset consumer group reads all of it again), how long the
// outbox keeps rows that a rebased relay publishes again, and how long a dead letter may wait
// for its redrive. [RunPruner] keeps keys for 30 days by default, and deletes in chunks. Redis
// deletes keys by itself, 7 days after the effect, so use it alone only for topics with a
// shorter retention. An event that arrives after its key was pruned is handled again.
//
// # Metrics
//
// [Guard.Stats], [Leases.Stats] and [HTTP.Stats] count events and claims of this process;
// package metrics exports them as metrics.
//
// # Failure modes
//
// The database is down: Do fails with the driver's error, the handler does not run, and the
// message is delivered again (a consumer pauses if a classifier calls the error
// infrastructure). COMMIT fails with an unknown outcome: Do returns the error; the redelivery
// finds the key if it was committed and runs the handler if it was not. Redis is down: in front
// of SQL it is skipped; alone, the store refuses with an infrastructure error. A Guard does not
// cover effects outside the transaction (an email, another database, a payment gateway): they
// can happen again if the transaction then fails. Use Leases for them, or pass on the event's
// id as their own idempotency key.
package idempotency

// Package idempotency gives every event one effect, although it is delivered
// at least once: again after a crash, after a lost acknowledgement, by two
// consumers at the same moment.
//
// A [Guard] stands around a handler. It records the event's key first and runs
// the handler only when the key is new. With a SQL store (package
// sqlidempotency) the key and what the handler writes are one transaction, so
// that either both are there or neither is:
//
//	guard, err := idempotency.New(store, idempotency.Config{Group: "stats-service-group"})
//	…
//	fresh, err := guard.Do(ctx, e, func(ctx context.Context) error {
//		tx, _ := sqltx.From(ctx) // the transaction that the key is part of
//		_, err := tx.ExecContext(ctx, `UPDATE sales SET tickets = tickets + 1`)
//		return err
//	})
//
// [Guard.Middleware] is the same for a Watermill handler, which finds the
// transaction in msg.Context() and the decoded event by [EventFrom].
//
//	property                                             sql   memory   proven by (package idempotencytest)
//	a handled key is skipped                             yes   yes      fresh-then-duplicate
//	a handler that fails or panics leaves no key         yes   yes      error-leaves-no-key, panic-leaves-no-key
//	… and no effect                                      yes   -        the same
//	concurrent duplicates: one effect; the second waits,
//	and takes over when the first fails                  yes   yes      concurrent-one-effect, concurrent-takeover, storm
//	a key recorded means the effect is committed         yes   -        transaction-in-context, outer-rollback
//	an outer sqltx.Do commits key, effect and its own
//	work together                                        yes   -        outer-commit, outer-rollback
//	the handler's error comes back unchanged             yes   yes      error-is-kept
//	pruning keeps what is newer                          yes   yes      prune-keeps-newer, prune-in-chunks
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
// it. A [Pruner] keeps 30 days by default. An event that arrives after its key
// was pruned is handled again.
//
// # Failure modes
//
// The database is away: Do fails with the driver's error, the handler does not
// run, and the message comes back (a consumer pauses when a classifier calls
// that error infrastructure). COMMIT fails with an unknown outcome: Do returns
// the error; the redelivery finds the key when it was committed and runs the
// handler when it was not. Effects outside the transaction (a mail, another
// database, a payment gateway) are not covered: they can happen again when the
// transaction then fails. Give them the event's id as their own idempotency key.
package idempotency

// Package outbox publishes events if, and only if, the transaction that wrote
// them commits.
//
// An [Outbox] appends events in the caller's own transaction, in one statement.
// A [Relay] reads them in a safe order and publishes them to any Watermill
// publisher. A [Store] is where they wait meanwhile: package sqliteoutbox,
// pgoutbox or mysqloutbox.
//
//	err := sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
//		if _, err := tx.ExecContext(ctx, `UPDATE seats SET …`); err != nil { // locks the row
//			return err
//		}
//		return box.Append(ctx, tx, event) // after the lock: see Order
//	})
//
// # Guarantees
//
//	property                                                       proven by
//	what a committed transaction appended is published at least
//	once, or parked                                                TestNothingLostNothingReordered, suite CrashRepeatsOneBatch
//	what a rolled-back one appended is never published             suite Atomic
//	events of a key are first published in commit order, also
//	across retries, restarts and failovers                         TestNothingLostNothingReordered, suite OrderPerKey, TestStress
//	nothing waits for a foreign open transaction                   TestStress (p99 beside a long one)
//	no wake-up comes before the commit; after it the relay is
//	woken at once                                                  suite WakeOnCommit, TestOtherProcessesAreWoken
//	a relay that lost its lease changes nothing, and begins no
//	further Publish call                                           suite Fencing, TestStalledHolderStops, TestExpiredLeaseStopsPublishing
//	a crash publishes at most one batch per shard again            suite CrashRepeatsOneBatch
//	a clean stop publishes nothing again                           TestShutdownFinishesTheBatch
//	an unreachable broker parks nothing and spends no retry        suite UnreachableParksNothing, UnreachableSpendsNoRetry, TestMaxAge
//	a poison event does not block others for longer than MaxAge,
//	or MaxRetries                                                  TestMaxAge, TestMaxRetries, TestProbesFindThePoison, suite MaxAgeParks, MaxRetriesParks
//	several of one batch do not either                             TestPoisonsAgeTogether
//	a permanent error parks its event at the first attempt         TestPermanentErrorsParkAtOnce
//	what is parked has left a dead letter, if that is asked for    TestMaxRetries, TestDeadLetterIsTheBus, suite LonePoisonIsDeadLettered
//	a publisher that hangs loses its shard to a standby, holds up no
//	other, and not the end of Run                                  TestHungPublisherGivesTheLeaseUp, TestHungShardStopsNoOther,
//	                                                               TestRunEndsBesideAHungPublisher, TestSlowPublisherKeepsTheLease,
//	                                                               TestSlowPublisherGetsSmallerCalls
//	a read that took too long is tried again for half as much,
//	under the same lease, and grows back                           TestReadsHalve, TestReadsGrowBack, TestBurstsOfLargeEventsAreReadInTime
//	a store that meets another server ends the tenure              TestReadOfAnotherServerEndsTheTenure
//	nothing is open in the database while messages are published   by construction: Store keeps nothing between calls
//	an idle relay sends at most 2 statements a second per shard    TestIdleRelayAsksRarely
//	an event takes the trace it is made in, and keeps one it has   TestAppendMakesACreateSpanPerEvent, TestAppendKeepsTheTraceOfAnEvent,
//	                                                               TestAppendCarriesTheContextWithoutAProvider
//	the relay's spans link to the events' traces, and overwrite
//	none; a dead letter keeps its own                              TestRelayLinksAndOverwritesNothing, TestRelayThatFailsSaysSoInItsSpan
//	without a provider that costs nothing                          TestWithoutAProviderTracesCostNothing
//
// The suite is outboxtest.Run. Parked events that are retried are the exception
// to the order: they go behind everything that waits.
//
// # Two kinds of stores
//
// A cursor store (New of the databases' packages) reads an append-only table,
// outbox_messages, and remembers how far it came; rows never change. A status
// store (NewStatus) keeps the state of each event in its row of outbox_events,
// PENDING, PUBLISHED or FAILED, for teams whose operators, reports or tools look
// at rows. The promises are the same; the cursor store does less work per event.
// What differs is what RelayConfig leaves zero:
//
//	                     cursor        status
//	Ordering             Strict        ByKey
//	MaxRetries           unbounded     3
//	DeadLetter           none          {topic}.DLT
//	failures are kept    outbox_retries, outbox_failed      in the event's row
//
// Package debezium says how change-data capture reads either table.
//
// # Order
//
// Events of one key (event.Event.Key) are published in the order in which their
// transactions committed, provided that each transaction appends after it has
// locked the key's row, or checks a version it has read. No reader can restore
// an order that two unsynchronised writers never had. All events without a key
// are one key.
//
// Within a batch, keys are published in parallel (RelayConfig.Lanes) and many
// messages per Publish call (Chunk). When a call for many fails, nobody knows
// which of them were published: they are then published one by one, so that the
// failing one is found, and some may arrive twice.
//
// # Failing events
//
// An event whose Publish fails is tried again after 1 s, 2 s, 4 s … 30 s
// (RelayConfig.Retry); the store keeps the state. What happens to the others is
// RelayConfig.Ordering:
//
//	Strict   nothing behind the batch is published until the event is; other keys
//	         of the same batch may have passed.
//	ByKey    the event, and later ones of its key, move aside in the transaction
//	         that moves the cursor, and are published in their order once it
//	         succeeds. Other keys pass. At most MaxAside events of a shard stand
//	         aside; then the shard waits as under Strict.
//
// A failing event is parked at once when its error is classified permanent
// (fault.Of with RelayConfig.Classifiers), and else after MaxAge (5 min) or
// MaxRetries: the store keeps it apart with its error and attempts, an operator
// decides ([Parking]), and the rest goes on, later events of its key too. An event
// that is to wait for an operator in its place needs an error that is marked
// transient.
//
// Age and retries must tell a poison event from an unreachable broker. So the time
// between two attempts, and the second of them, count only if this relay has
// published some other event in between (of any shard). Under Strict a blocked shard
// would have no such evidence, so beside an attempt that lacks it one further event
// of another key is published as a probe, from the batch or from what is read on.
// The failing events of a batch age together; those of the next batch begin when it
// does. When nothing else waits, nothing is held up, and the event is tried for ever,
// unless its dead letter gives the evidence.
//
// With RelayConfig.DeadLetter a copy of the message goes to a dead letter topic
// before the event is parked, with the metadata that package bus gives its dead
// letters (dlq_group is "outbox"), so that one tool redrives both. That it
// arrives shows that the broker works, so a lone event is parked after MaxRetries
// too. A dead letter that is refused is tried again with each further retry, up
// to 3 times; then, or at once when the refusal is permanent, the event is parked
// without one. A crash may publish a dead letter twice.
//
// An error classified infrastructure (fault.Of with RelayConfig.Classifiers)
// pauses the shard, is no attempt at any event, and adds to no age. Errors that
// nobody classified are attempts; when everything fails with them, the relay
// makes careful rounds: it tries a few events, then four times as many, up to 256 of
// a shard. It publishes all as soon as one gets through.
//
// # Crashes, leases and stops
//
// Each shard has a lease of 10 s with a fencing token, held while the relay
// runs and renewed with each batch. A relay that is killed delays its shards by
// the rest of the lease; one that is stopped gives them up at once. Any number
// of relays may run; the others stand by.
//
// A relay reads the next batch while it publishes one, but publishes it only
// after the one before is settled. So a crash repeats at most one batch per
// shard (MaxBatch, 5000; with probes up to MinBatch more). A stop while a failing
// event blocks the shard repeats what had passed it. Consumers must be
// idempotent; package idempotency makes them so.
//
// # Failure modes
//
//	database away       Append fails and with it the transaction; the relay waits, keeps what
//	                    it has confirmed in memory, and goes on
//	database slow       a read that is ended by the server, or after max(LeaseTTL, 5 s), is
//	                    tried again for half as many events, down to one
//	failover            the tenure ends, and a relay begins again at what is stored
//	broker away         the shard pauses or makes careful rounds; the backlog grows
//	relay killed        another one, or the next, repeats up to a batch after the lease's rest
//	relay stalled       its lease goes to another; its settlement is refused; what it was
//	                    publishing may arrive twice
//	publisher hangs     after PublishTimeout (30 s) the messages are cancelled, what was
//	                    confirmed before is settled, and the lease is given up, so that a
//	                    standby goes on. This relay tries for that lease again when the call
//	                    has returned. What the call publishes after all arrives twice, and
//	                    perhaps behind later events of its key. Stopped meanwhile, Run returns
//	                    ErrHung
//	poison event        parked at once, or after MaxAge or MaxRetries, see above. Behind an
//	                    event that keeps its place, a parked one is tried again by the next
//	                    holder of the lease, and may arrive, or leave a second dead letter
//	wake-up lost        found after RelayConfig.Interval (1 s)
//	pg_upgrade          Run returns ErrForeignDatabase until the store's Adopt has kept the cursors
//	restored elsewhere  Run returns ErrForeignDatabase until the store's Rebase says from when
//	                    events are published again; Adopt refuses
//	Shards changed      Append and Run return ErrShards
//	publisher returns
//	before it is safe   a crash of the broker loses what it had only in memory: nothing can be
//	                    done about that here
//
// # Waking
//
// Inside sqltx.Do, Append wakes the relays of this process, and through the
// store those of others, after the commit. The wake-ups of other processes are
// sent outside of any transaction, the first at once and then at most one per
// 2 ms, because PostgreSQL's NOTIFY takes a lock of the whole database while it
// commits. With a bare *sql.Tx call [Outbox.Wake] after the commit, or set
// Config.NotifyInTransaction, or let the relay's Interval do.
//
// # Correlation
//
// An event without a correlation id becomes a child of the event that Append's
// context handles, or takes the id that event.WithCorrelation put there
// (TestAppendCarriesTheCorrelation).
//
// # Traces
//
// With Config.TracerProvider each event gets a "create" span, the child of the span
// in Append's context, and travels with its trace context (traceparent). Without, it
// travels with that of the span in the context, if there is one. With
// RelayConfig.TracerProvider each Publish call is a "send" span of a trace of its
// own, linked to the events' contexts: a call has events of many traces. Failures
// are told by error.type, the class of package fault; their texts are in the logs
// only, with event_id and correlation_id.
//
// # Logs
//
// The outbox, the relay and the monitor log to slog.Default() unless they are given a
// Logger; slog.New(slog.DiscardHandler) is silence. No payload is logged.
//
//	level  what                                                       how often
//	WARN   an event fails beside others that get through              once an event and lease
//	ERROR  an event is parked; a Publish call hangs                   each
//	ERROR  nothing gets through, the publisher is unreachable, the
//	       store or a wake-up fails                                   at once, then after 1, 2, 4 … 60 min
//	WARN   a read took too long, a lease was lost                     each
//	WARN   no wake-ups from other processes, as the pool is too small  once
//	INFO   what lasted is over                                        once
//
// Lines about an event have shard, topic, event_id, correlation_id, attempts and
// error. TestLogsByDefault, TestLastingTroubleIsToldRarely and
// TestFailingEventHasTwoLines prove it.
//
// # Metrics
//
// [Hooks] tell what a relay does; a [Monitor] keeps at hand how the shards stand, so
// that a scrape never waits for the database (TestMonitorKeepsTheLastAnswer). Package
// outboxprom makes metrics of both: millrace_outbox_backlog{shard}, millrace_outbox_oldest_age_seconds{shard},
// millrace_outbox_published_total{topic}, millrace_outbox_publish_latency_seconds{topic} and others.
package outbox

// Package outbox publishes events if, and only if, the transaction that wrote them commits.
//
// An [Outbox] appends events in the caller's own transaction, in one statement. A store keeps
// them: package sqliteoutbox, pgoutbox or mysqloutbox. A [Relay] reads them in a safe order and
// publishes them to any Watermill publisher. Package driver is for authors of stores.
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
//	an event of a committed transaction is published at least
//	once, or parked                                                TestNothingLostNothingReordered, suite CrashRepeatsOneBatch
//	an event of a rolled-back one is never published               suite Atomic
//	events of a key are first published in commit order, also
//	across retries, restarts and failovers                         TestNothingLostNothingReordered, suite OrderPerKey, TestStress,
//	                                                               suite AsideKeysAreApart
//	nothing waits for a foreign open transaction                   TestStress (p99 beside a long one)
//	no wake-up comes before the commit; after it the relay is
//	woken at once                                                  suite WakeOnCommit, TestOtherProcessesAreWoken
//	a relay that lost its lease changes nothing, and begins no
//	further Publish call                                           suite Fencing, TestStalledHolderStops, TestExpiredLeaseStopsPublishing
//	a crash publishes at most one batch per shard again            suite CrashRepeatsOneBatch
//	all of this holds for two halves of a batch, one of which is
//	published while the other waits to be confirmed                TestRoundsOverlap, TestTroubleEndsBothRounds, TestLostLeaseEndsBothRounds
//	a clean stop publishes nothing again, and leaves every shard
//	free, also one that is just being taken                        TestShutdownFinishesTheBatch, TestShutdownFinishesBothBatches,
//	                                                               TestStopWhileALeaseIsTaken
//	a stop takes ShutdownTimeout at most, and a second more for
//	each kind of call (Publish, Settle, Release) that ignores its
//	end                                                            TestShutdownTimeout, TestShutdownTimeoutCountsForBothBatches,
//	                                                               TestShutdownTimeoutCountsForSettlements,
//	                                                               TestStopBesideADeafRound
//	an unreachable broker parks nothing and spends no retry        suite UnreachableParksNothing, UnreachableSpendsNoRetry, TestMaxAge
//	a poison event does not block others for longer than MaxAge,
//	or MaxRetries                                                  TestMaxAge, TestMaxRetries, TestProbesFindThePoison, suite MaxAgeParks, MaxRetriesParks
//	several of one batch do not either                             TestPoisonsAgeTogether
//	a permanent error parks its event at the first attempt         TestPermanentErrorsParkAtOnce
//	a parked event is counted, and can be retried, after the number
//	of shards was lowered                                          TestFewerShards
//	a parked event has left a dead letter, if configured           TestMaxRetries, TestDeadLetterIsTheBus, suite LonePoisonIsDeadLettered
//	a publisher that hangs loses its shard to a standby, holds up no
//	other, and not the end of Run                                  TestHungPublisherGivesTheLeaseUp, TestHungShardStopsNoOther,
//	                                                               TestRunEndsBesideAHungPublisher, TestSlowPublisherKeepsTheLease,
//	                                                               TestSlowPublisherGetsSmallerCalls
//	a read that took too long is retried for half as many events,
//	under the same lease, and grows back                           TestReadsHalve, TestReadsGrowBack, TestBurstsOfLargeEventsAreReadInTime
//	a store that reads from another server loses the lease         TestReadOfAnotherServerEndsTheTenure
//	a store that does not answer is asked again, also at the start TestAStoreThatHangsAtTheStartIsAskedAgain
//	nothing is open in the database while messages are published   by construction: Store keeps nothing between calls
//	an idle relay sends at most 2 statements a second per shard    TestIdleRelayAsksRarely
//	a shard rests between small batches of a steady load only,
//	for 20 ms at most                                              TestAShardRestsBetweenSmallBatches, TestARestIsShort, TestABacklogWaitsForNoRest
//	a relay listens while it holds a shard, and only then          TestOnlyTheHolderListens
//	an event gets the trace it is made in, or keeps its own        TestAppendMakesACreateSpanPerEvent, TestAppendKeepsTheTraceOfAnEvent,
//	                                                               TestAppendCarriesTheContextWithoutAProvider
//	the relay's spans link to the events' traces, and overwrite
//	none; a dead letter keeps its own                              TestRelayLinksAndOverwritesNothing, TestRelayThatFailsSaysSoInItsSpan
//	without a provider, traces cost nothing                        TestWithoutAProviderTracesCostNothing
//
// The suite is outboxtest.Run. Retried parked events are the exception to the order: they are
// published behind all events that wait.
//
// # Two kinds of stores
//
// A cursor store (New of the databases' packages) reads an append-only table, outbox_messages,
// and remembers its position; rows never change. A status store (their Config.Status) keeps the
// state of each event, PENDING, PUBLISHED or FAILED, in its row of outbox_events, for teams whose
// operators, reports or tools look at rows. Both give the same guarantees; the cursor store
// does less work per event. They differ in the defaults of RelayConfig:
//
//	                     cursor        status
//	Ordering             Strict        ByKey
//	MaxRetries           unbounded     3
//	DeadLetter           none          {topic}.DLT
//	failures are kept    outbox_retries, outbox_failed      in the event's row
//
// Package debezium describes how change-data capture reads either table.
//
// # Order
//
// Events of one key (event.Event.Key) are published in the order in which their transactions
// committed, provided that each transaction appends after it has locked the key's row, or
// checks a version that it has read. No reader can restore an order that two unsynchronised
// writers never had. All events without a key count as one key.
//
// Within a batch, keys are published in parallel (RelayConfig.Lanes) and many messages per
// Publish call (Chunk). If a call for many messages fails, it is unknown which of them were
// published. The relay then publishes them one by one to find the failing event, and some may
// arrive twice.
//
// # Failing events
//
// An event whose Publish fails is retried after 1 s, 2 s, 4 s … 30 s (RelayConfig.Retry); the
// store keeps the state. RelayConfig.Ordering decides about the other events:
//
//	Strict   nothing behind the batch is published until the event is; other keys
//	         of the same batch may have passed.
//	ByKey    the event, and later ones of its key, are deferred in the transaction
//	         that moves the cursor, and are published in their order once it
//	         succeeds. Other keys pass. At most MaxAside events of a shard are
//	         deferred; then the shard waits as under Strict.
//
// A failing event is parked at once if its error is classified permanent (fault.Of with
// RelayConfig.Classifiers), otherwise after MaxAge (5 min) or MaxRetries. The store keeps a
// parked event with its error and attempts for an operator (the store's Parked and Retry), and
// publishing goes on, also for later events of its key. If an event has to wait for an operator
// in its place, mark its error transient.
//
// Age and retries must distinguish a poison event from an unreachable broker. So the time
// between two attempts, and the second of them, count only if this relay has published some
// other event in between (of any shard). Under Strict, a blocked shard would have no such
// evidence. So if an attempt lacks evidence, one further event of another key is published
// beside it as a probe, from the batch or from a further read. The failing events of a batch
// age together; those of the next batch begin to age when that batch begins. If no other event
// waits, the failing event delays none and is retried for ever, unless its dead letter gives
// the evidence.
//
// With RelayConfig.DeadLetter a copy of the message is published to a dead letter topic before
// the event is parked, with the metadata of package bus's dead letters (dlq_group is "outbox"),
// so that one tool redrives both. An accepted dead letter shows that the broker works, so a
// lone event is parked after MaxRetries too. A refused dead letter is retried with each further
// retry of the event, up to 3 times; then, or at once if the refusal is permanent, the event is
// parked without one. A crash may publish a dead letter twice.
//
// An error classified infrastructure (fault.Of with RelayConfig.Classifiers) pauses the shard.
// It does not count as an attempt and adds nothing to an event's age. Unclassified errors count
// as attempts. If all attempts fail with such errors, the relay makes careful rounds: it tries
// a few events, then four times as many, up to 256 of a shard. As soon as one event is
// published, the relay publishes all of them.
//
// # Crashes, leases and stops
//
// Each shard has a lease of 10 s with a fencing token, held while the relay runs and renewed
// with each batch. A killed relay delays its shards by the rest of the lease; a stopped relay
// releases them at once. Any number of relays may run; relays without a lease stand by.
//
// A relay reads half of a batch at once, and more only for a publisher that returns at once. While
// the transport confirms the half, and while it is settled, the lanes that are through go on with
// the other half, until one of them fails. So a crash repeats at most one batch per shard
// (MaxBatch, 5000; with probes up to MinBatch more). A stop while a failing event blocks the shard
// repeats the events that had passed it. Consumers must be idempotent; see package idempotency.
//
// # Failure modes
//
//	database down       Append fails and with it the transaction; the relay waits, keeps its
//	                    confirmed events in memory, and goes on
//	database slow       a read that the server ends, or that takes max(LeaseTTL, 5 s), is
//	                    retried for half as many events, down to one
//	failover            the lease ends, and a relay begins again at the stored position
//	broker down         the shard pauses or makes careful rounds; the backlog grows
//	relay killed        another one, or the next, repeats up to a batch after the lease's rest
//	relay stalled       its lease goes to another; its settlement is refused; the messages in
//	                    flight may arrive twice
//	publisher hangs     after PublishTimeout (30 s) the messages are cancelled, the messages
//	                    confirmed before are settled, and the lease is released, so that a
//	                    standby goes on. This relay tries for that lease again when the call
//	                    has returned. Messages that the call publishes later arrive twice, and
//	                    perhaps behind later events of their key. If the relay is stopped before
//	                    the call returns, Run returns an error
//	poison event        parked at once, or after MaxAge or MaxRetries, see above. Behind an
//	                    event that keeps its place, a parked one is tried again by the next
//	                    holder of the lease, and may arrive, or leave a second dead letter
//	wake-up lost        found after RelayConfig.Interval (1 s)
//	pg_upgrade          Run returns driver.ErrForeignDatabase until the store's Adopt has kept the cursors
//	restored elsewhere  Run returns driver.ErrForeignDatabase until the store's Rebase says from when
//	                    events are published again; Adopt refuses
//	Shards changed      Append and Run return driver.ErrShards
//	publisher returns
//	before it is safe   a crash of the broker loses the messages that it had only in memory:
//	                    the outbox cannot prevent this
//
// # Waking
//
// Inside sqltx.Do, Append wakes the relays of this process, and through the store those of
// other processes, after the commit. The wake-ups of other processes are sent outside of any
// transaction, the first at once and then at most one per 2 ms, because PostgreSQL's NOTIFY
// takes a lock of the whole database while it commits. Only relays that hold a shard listen. With
// a bare *sql.Tx, call [Outbox.Wake] after the commit, set Config.NotifyInTransaction, or rely on
// the relay's Interval.
//
// A shard that is woken looks at once. After a batch of four events or more that was not full it
// rests for twice as long as that batch took, at most 20 ms: under a steady load batches are three
// times as large, and cost the database and the transport a third. Single events wait for no rest.
//
// # Correlation
//
// An event without a correlation id becomes a child of the event that Append's context handles,
// or takes the id that event.WithCorrelation put into the context
// (TestAppendCarriesTheCorrelation).
//
// # Traces
//
// With Config.TracerProvider each event gets a "create" span, the child of the span in Append's
// context, and travels with the new span's trace context (traceparent). Without it, the event
// travels with the trace context of the span in the context, if there is one. With
// RelayConfig.TracerProvider each Publish call is a "send" span of its own trace, linked to the
// events' contexts, because a call has events of many traces. A span of a failure has
// error.type, the class of package fault; the error's text is only in the logs, with event_id
// and correlation_id.
//
// # Logs
//
// The outbox, the relay and the monitor log to slog.Default() unless they have a Logger;
// slog.New(slog.DiscardHandler) disables the logs. No payload is logged.
//
//	level  event                                                      how often
//	WARN   an event fails while others are published                  once an event and lease
//	ERROR  an event is parked; a Publish call hangs                   each
//	ERROR  all events fail, the publisher is unreachable, the
//	       store or a wake-up fails                                   at once, then after 1, 2, 4 … 60 min
//	WARN   a read took too long, a lease was lost                     each
//	WARN   no wake-ups from other processes, as the pool is too small  once
//	INFO   a lasting failure has ended                                once
//
// Lines about an event have shard, topic, event_id, correlation_id, attempts and error. The
// proof is TestLogsByDefault, TestLastingTroubleIsToldRarely and TestFailingEventHasTwoLines.
//
// # Metrics
//
// [Hooks] report the work of a relay; a [Monitor] keeps the last state of the shards, so that a
// scrape never waits for the database (TestMonitorKeepsTheLastAnswer). Package metrics
// exports metrics of both: millrace_outbox_backlog{shard},
// millrace_outbox_oldest_age_seconds{shard}, millrace_outbox_published_total{topic},
// millrace_outbox_publish_latency_seconds{topic} and others.
package outbox

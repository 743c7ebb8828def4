// Package bus opens a message transport from a URL and runs consumers on it. Consumers keep the
// order of each key, retry by error class, publish dead letters, and pause while a dependency is
// down. Shutdown loses no message and redelivers as few as possible.
//
//	b, err := bus.Open(ctx, "sqlite:///var/lib/app/app.db", membus.Scheme(), sqlitebus.Scheme(sqlitebus.Config{}))
//
//	runner, err := bus.NewRunner(b, bus.RunnerConfig{})
//	err = runner.Add(bus.Consumer{
//		Topic: "payment.events", Group: "event-payment-consumer",
//		Handler:    bus.ByType(map[string]bus.EventHandler{"PaymentSuccess": sell}),
//		DeadLetter: "dlq.payment",
//	})
//	err = runner.Run(ctx) // until ctx is cancelled, and everything is committed
//
// Open connects to no server: a program can start before its broker or database does. The first
// Publish creates the topics it needs, and Run waits until the server is available.
//
// To change the transport, change the URL; the code stays the same. A binary links the schemes
// it names; allbus names all of them. Handlers, middleware, publishers and messages are
// Watermill's.
//
// # Guarantees
//
// Delivery is at least once, so handlers must be idempotent. The guards of package idempotency
// make a handler idempotent; set one as the consumer's Guarded:
//
//	Guarded: guard.Handle(func(ctx context.Context, tx *sql.Tx, e event.Event) error { … })
//
//	property                                                      proven by
//	one message per key is out, keys in parallel up to a bound    TestOnePerKeyAndAtMostConcurrencyAreOut
//	a retried message blocks its key and no other                 TestAKeyInBackoffHoldsUpNobodyElse
//	transient: 1 s, 2 s, 4 s, then the dead letter                TestTransientRetriesOneTwoFourSecondsThenDeadLetter
//	permanent: the dead letter at once                            TestPermanentIsADeadLetterAtOnce
//	infrastructure: pause, one probe at a time, resume at once    TestPauseProbesWithBackoffAndResumesAtOnce,
//	                                                              TestPauseHasOneProberAndWakesAll
//	a message that fails as if a dependency were down stops only
//	its key: other keys are probed too. Its failures count
//	after 20 windows or 15 minutes, in no pause                   TestASuspectStopsOnlyItsKey,
//	                                                              TestASuspectBecomesADeadLetterInTime,
//	                                                              TestAPauseTriesWhatComes,
//	                                                              TestAnOutageSparesSuspects
//	events that are skipped, and dead letters, make no suspects   TestSkippedEventsDoNotEndAPause,
//	                                                              TestIgnoredEventsOfAFailedBatchDoNotEndAPause,
//	                                                              TestDeadLettersMakeNoSuspects
//	a message leased by another worker waits with its key for as
//	long as that takes, and is not a dead letter                  TestABusyMessageWaits, TestLeasesOfADeadProcess
//	nothing is dead-lettered while paused                         TestFailuresDuringAPauseAreNotCounted
//	a dead letter fits: its stack is removed first, then its error
//	is cut, and bounded transports keep room for the rest         TestADeadLetterIsMadeToFit,
//	                                                              TestTheLargestMessageHasItsDeadLetter
//	a message that kills its process is a dead letter after four
//	deaths (SQLite, PostgreSQL, MySQL, Redis, Kafka): its partition
//	is handled one message at a time from the third start without
//	progress, and the message alone in two deaths is CRASHED      TestAMessageThatKillsItsProcess,
//	                                                              TestSuspectedMessagesAreHandledAlone,
//	                                                              TestASuspectedMessageWaitsForItsNote
//	a dead letter that cannot be published also pauses            TestADeadLetterThatCannotBePublishedPauses
//	Timeout ends a handler's context, and its failure is transient;
//	an overdue handler is reported, by key and age                TestTimeoutEndsAHandler,
//	                                                              TestAnOverdueHandlerIsReported
//	a panic is transient; its stack is in the dead letter; an
//	error whose text or classifier panics is a panic              TestPanicIsTransientAndItsStackGoesIntoTheDeadLetter,
//	                                                              TestAnErrorThatPanicsIsAPanic
//	a dead letter has the original bytes, metadata and id         TestADeadLetterSaysWhy
//	of the dead letters of a batch, those that are published are
//	not published again                                           TestADeadLetterThatIsPublishedIsNotPublishedAgain
//	shutdown lets handlers finish and publish, then commits       TestShutdownLetsHandlersFinishAndCommits,
//	                                                              TestHandlersPublishWhileTheBusCloses
//	an orderly stop repeats no message whose handler has ended,
//	also behind a message whose handler has not                   bustest AnOrderlyStopRepeatsNothing,
//	                                                              TestSixOrderlyStops
//	after the drain timeout contexts end                          TestDrainTimeoutCancelsContextsAndHandsBack
//	a cancelled handler hands its message back, uncounted         TestACancelledHandlerHandsBackUncounted
//	commits come before leftover contexts end                     TestContextsLiveUntilTheTransportHasCommitted
//	a message that the transport took back is not settled         TestRevokedMessages
//	order holds and nothing is lost over stops and failures       TestRandomHistoriesKeepOrderAndLoseNothing
//	processes of a group that are stopped or killed in a backlog
//	lose nothing and keep the order of each key                   TestSixOrderlyStops,
//	                                                              TestKillsOfThreeMembers
//	shutdown ends every wait                                      TestShutdownDuringBackoffAndPauseReturnsAtOnce
//	Run leaves no goroutine                                       TestRunLeavesNoGoroutine
//	goroutines and memory are bounded                             TestGoroutinesAreBoundedByConcurrency,
//	                                                              TestWindowBoundsWhatIsTakenFromTheSource
//	an ended context publishes nothing                            bustest EndedContextPublishesNothing
//	no user can close the shared publisher                        TestFault_StoppingAHandlerClosesASharedPublisher
//	errors of Open name the mistake and hide passwords            TestOpenErrors
//	Open does not dial; Publish, Declare and Ping fail as
//	infrastructure while the server is absent                     bustest AnAbsentServerIsWaitedFor
//	consumers wait for it, at most 30 s between tries, and log it TestRunWaitsForAnAbsentServer,
//	                                                              TestSubscribeWaitsForAnAbsentServer
//	the end of the context, or Close, ends that wait at once      TestTheEndOfTheContextEndsTheWait,
//	                                                              TestCloseEndsSubscribeInitialize
//	an error that is not infrastructure ends Run                  TestAPermanentErrorEndsRun
//	so does the end of its bus                                    TestClosingTheBusEndsRun
//
//	a batch is handed out when full, or after its wait            TestABatchGoesOutWhenItIsFullOrOldEnough
//	a batch fills from the window, if necessary from one key      TestHowFarABatchFills
//	in batches only the messages named by the handler fail        TestABatchErrorFailsOnlyWhatItNames
//	… unless there is another error beside, as of a commit, or
//	a guard has rolled the batch back                             TestAnErrorBesideABatchErrorFailsAll,
//	                                                              TestABatchErrorBehindAGuardFailsAll
//	if a whole batch fails, only the culprit is dead-lettered     TestAWholeBatchThatFailsIsTakenApart
//	order holds and nothing is lost in batches either             TestRandomHistoriesOfBatchesKeepOrderAndLoseNothing
//	infrastructure pauses a batch consumer, uncounted             TestInfrastructurePausesABatchConsumer,
//	                                                              TestABatchThatFailsDuringAPauseIsNotCounted
//	low is held while high is behind, with hysteresis             TestLowIsHeldWhileHighIsBehind
//	low runs where the lag is unknown                             TestLowRunsWhereTheLagIsUnknown
//	obsolete events are acknowledged without work, and counted    TestObsoleteEventsAreAcknowledgedWithoutWork
//	a type without a handler is acknowledged, counted and reported;
//	each type is logged once, 100 types at most                   TestTypesWithoutAHandlerAreIgnored,
//	                                                              TestIgnoredTypesAreBounded
//	a guard of another group is refused when it is added          TestAGuardOfAnotherGroupIsRefused
//	… one that the runner cannot see pauses its consumer          TestAHiddenGuardOfAnotherGroupPauses
//	a guarded handler gets its transaction as an argument         TestGuardedConsumersGetTheTransaction
//	lag is answered from memory, without a query                  TestLagMonitorRefreshesAndKeepsTheLastAnswer
//	a group gets messages again, from the beginning, a time or a
//	position, and nothing is kept of its old position
//	(mem, SQL, Redis, Kafka)                                      bustest AResetGroupGetsEverythingAgain,
//	                                                              AResetGroupBeginsAtAPlace,
//	                                                              AResetGroupBeginsAtItsPositions
//	groups are listed and deleted (these and RabbitMQ)            bustest GroupsAreListed, ADeletedGroupBeginsAnew
//	a group with members is not moved and not deleted             bustest ALiveGroupIsLeftAlone
//	retained messages can be read without a group                 bustest ReadConsumesNothing
//	each handler run, pause and publish is reported               TestEachRunOfAHandlerIsTold, TestHooksOfTheRunner,
//	                                                              TestPublishingIsCounted
//
//	a delivery's span is the child of its message's, each attempt
//	a span of its own; a dead letter keeps its trace              TestADeliveryIsAChildOfItsMessage,
//	                                                              TestEveryAttemptIsASpanAndADeadLetterKeepsItsTrace
//	a batch's span links to its messages                          TestABatchLinksToItsMessages
//	a publisher without an outbox passes the trace on             TestATracedPublisherInjectsAndOverwritesNothing,
//	                                                              TestADeadLetterWithoutATraceGetsOne
//	without a provider a trace is passed on at no cost            TestWithoutAProviderATraceGoesOn,
//	                                                              TestWithoutAProviderTracesCostNothing
//	log lines about an event have its ids                         TestLogLinesAboutAnEventHaveItsIDs
//
// Package bustest checks the duties of a transport. Package redrive lists, redrives and drops
// dead letters.
//
// # How a message travels
//
// The engine fetches messages from the transport's source (see package driver) while the window
// has room. It queues them by key (event.Key; messages without a key are one key). Up to
// Concurrency workers run the handler, one message of a key at a time. A worker settles its
// message and takes the next by itself. A message that waits, for a delay or for a dependency,
// costs neither a worker nor a goroutine: a consumer has Concurrency goroutines and two more,
// beside those of the transport.
//
// [Bus.Subscriber] is the same engine with a channel for a handler: a message taken from the
// channel is out until it is acknowledged or nacked. Watermill's Router runs on it.
//
// fault.Of classifies an error, with the consumer's Classifiers for errors of drivers. Attempts
// are counted in the process: after a restart, or when another instance takes over, a message
// starts with all its retries. Failures while the consumer is paused are not counted either,
// since the outage may be their cause.
//
// A pause concerns one consumer. Every message stays unacknowledged. After 1 s, 2 s, 4 s … 30 s
// the consumer probes with one message; the probes alternate between a key that has not failed
// and one that has. Any outcome other than another infrastructure error ends the pause, and all
// waiting messages are tried at once. An event whose type has no handler, or one of another key
// that is obsolete, says nothing about the dependency: the pause goes on, and the next message is
// the probe. If the probe was of another key and was handled, the failed messages become suspects:
// the fault may be in the message, for instance in a query that takes longer
// than the database allows. The failures of a suspect do not pause the consumer. Only its key
// waits, up to 30 s between attempts; when 20 windows of other messages have passed it, or after
// 15 minutes, its failures count as transient, but never in a pause.
//
// # Batches, pairs and outdated events
//
// A [BatchConsumer] gets many messages at once, for work that costs little more for a hundred
// messages than for one: counting views with one statement per batch is some 12 to 20 times
// faster on SQLite than with one per event (BenchmarkViewCounts). Batches are an exception to
// one message per key: the engine hands over the first few of a key together, and no more of
// that key until they are settled.
//
// Batches fill from the window: the transports of this module hand over up to Window messages
// unacknowledged, also of one key and one partition. With the capability OneAtATime, which
// Watermill's own subscribers have (package watermillbus), a batch holds at most one message per
// partition, and is handed over after its Wait. With SerialGroups it holds one message, and with
// LocksKeys only a few of a key.
//
// A [Pair] holds its low consumer back while the high one is behind. The lag comes from a
// [LagMonitor], which queries the transport in the background and answers metrics and requests
// from memory. Package metrics exports it, [Bus.Stats] and [Runner.Status] as metrics.
//
// A consumer with Current skips events whose Sequence is out of date. [ByType] and the types
// of [HandleBatch] acknowledge events of other types: either the group does not need them, or a
// type is misspelt in the handler. Hence they are counted as Ignored, not as Handled, and each
// type is logged once.
//
// # Groups and replay
//
// A topic with the capability Replay keeps acknowledged messages until its retention is over.
// [Bus.ResetGroup] moves a group that has no members, so that it gets messages again:
//
//	moved, err := b.ResetGroup(ctx, "payment.events", "stats", bus.Place{Since: noon}, false)
//
// Handlers with a guard of package idempotency skip events they have handled before: the command
// millrace replay counts these events, and can delete their keys. A new group starts at the
// earliest message, or at the place of a ResetGroup after [Bus.Declare]. The transport checks
// whether a group has members, by leases or by Kafka's group state, and refuses in the same
// step: a member that starts at that moment gets the group before the reset or after it.
//
// # Traces and logs
//
// With RunnerConfig.TracerProvider each delivery is a "process" span of OpenTelemetry's
// messaging conventions, a child of the trace context in the message. The handler's context has
// this span: events that the handler appends to an outbox belong to the same trace. Each attempt
// has a span with its number (millrace.delivery.attempt), its outcome
// (millrace.delivery.outcome: handled, obsolete, ignored, retry, pause, dead_letter or
// hand_back), and for a failure error.type, one word, and its class (millrace.fault.class). A
// batch has one span, linked to its messages, with an event for each message that failed. The
// text of an error is in the log line only, never in a span.
//
// The context of a handler made with [Handle] or [ByType] contains its event: package eventlog
// adds the ids to the handler's own log lines. The package's lines about an event have event_id
// and correlation_id, and never its payload.
//
// # Failure modes
//
//   - When a process is killed, the messages it had not committed are redelivered: at most
//     Window messages per consumer, also those behind the first unacknowledged one that were
//     handled already.
//   - A message that kills its process kills four processes where the transport counts starts
//     without progress, and elsewhere every process that gets it. Messages of the partition
//     before it are handled again each time. A message of another consumer of the process that
//     is handled alone at two such moments is mistaken for the culprit.
//   - A handler that ignores its context delays the end of Run. Its message was handed back
//     before that, so another instance may handle it at the same time.
//   - A dead letter is published before its message is acknowledged. A crash between the two
//     publishes it again, with the same id.
//   - A key that is being retried keeps its messages in the window. When the window is full of
//     them, other keys wait as well: size Window to the messages of the busiest key in the
//     longest retry (7 s by default).
//   - Dead letters wait for the group [driver.RedriveGroup]. A transport that keeps unread messages of
//     a group keeps them until an operator redrives or drops them; on mem:// a full dead letter
//     topic pauses the consumers.
//   - After a bare error from a batch handler, its messages are handed over one by one. A
//     handler that names the failed messages keeps its batches.
//   - A transport that ends a subscription by itself ends Run with an error, after
//     all other consumers were shut down in order.
//   - Run waits while the transport's server is absent. It fails when topics cannot be declared
//     for another reason, such as a topic with another number of partitions.
//   - A wrong password looks like an absent server: Publish fails, consumers wait, and the log
//     has the reason. To find it at the start, call [Bus.Ping].
package bus

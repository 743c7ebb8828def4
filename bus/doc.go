// Package bus opens a message transport from a URL and runs consumers on it
// that do the right thing: order per key, retries by error class, dead letters,
// pauses while a dependency is down, and a shutdown that loses and repeats
// nothing it need not.
//
//	opener := bus.NewOpener(membus.Scheme(), sqlitebus.Scheme(sqlitebus.Config{}))
//	b, err := opener.Open(ctx, "sqlite:///var/lib/app/app.db")
//
//	runner, err := bus.NewRunner(b, bus.RunnerConfig{})
//	err = runner.Add(bus.Consumer{
//		Topic: "payment.events", Group: "event-payment-consumer",
//		Handler:    bus.ByType(map[string]bus.EventHandler{"PaymentSuccess": sell}),
//		DeadLetter: bus.DLQ("payment"),
//	})
//	err = runner.Run(ctx) // until ctx is cancelled, and everything is committed
//
// Open connects to no server: a program starts before its broker or database does. What
// Publish needs is made at its first call, and Run waits until the server is there.
//
// Changing the URL changes the transport and no code. A binary links the
// schemes it names; allbus names all of them. Handlers, middleware, publishers
// and messages are Watermill's.
//
// # What is promised
//
// Delivery is at least once. Handlers must be idempotent; the guards of package
// idempotency make them so, as the Guarded of a consumer:
//
//	Guarded: guard.Handle(func(ctx context.Context, tx *sql.Tx, e event.Event) error { … })
//
//	property                                                      proven by
//	one message per key is out, keys in parallel up to a bound    TestOnePerKeyAndAtMostConcurrencyAreOut
//	a retried message holds its key and nothing else              TestAKeyInBackoffHoldsUpNobodyElse
//	transient: 1 s, 2 s, 4 s, then the dead letter                TestTransientRetriesOneTwoFourSecondsThenDeadLetter
//	permanent: the dead letter at once                            TestPermanentIsADeadLetterAtOnce
//	infrastructure: pause, one prober, resume at once             TestPauseProbesWithBackoffAndResumesAtOnce,
//	                                                              TestPauseHasOneProberAndWakesAll
//	a message that fails as if a dependency were down stops only
//	its key: probes are of other keys, too. Its failures count
//	after 20 windows or 15 minutes, in no pause                   TestASuspectStopsOnlyItsKey,
//	                                                              TestASuspectBecomesADeadLetterInTime,
//	                                                              TestAPauseTriesWhatComes,
//	                                                              TestAnOutageSparesSuspects
//	a message that another worker has waits with its key, however
//	long that takes, and is no dead letter                        TestABusyMessageWaits, TestLeasesOfADeadProcess
//	nothing is dead-lettered while paused                         TestFailuresDuringAPauseAreNotCounted
//	a dead letter fits: its stack goes first, then its error is
//	cut, and transports with a bound keep room for the rest       TestADeadLetterIsMadeToFit,
//	                                                              TestTheLargestMessageHasItsDeadLetter
//	a message that kills its process is a dead letter after four
//	deaths (SQLite, PostgreSQL, MySQL, Redis, Kafka): its partition
//	is handled one alone at a time from the third start without
//	progress, and the one at work in two deaths is CRASHED        TestAMessageThatKillsItsProcess,
//	                                                              TestSuspectedMessagesAreHandledAlone,
//	                                                              TestASuspectedMessageWaitsForItsNote
//	a dead letter that cannot be published pauses, too            TestADeadLetterThatCannotBePublishedPauses
//	Timeout ends a handler's context, and its failure is transient;
//	one that goes on is reported, by key and age                  TestTimeoutEndsAHandler,
//	                                                              TestAnOverdueHandlerIsReported
//	a panic is transient; its stack is in the dead letter         TestPanicIsTransientAndItsStackGoesIntoTheDeadLetter
//	a dead letter has the original bytes, metadata and id         TestADeadLetterSaysWhy
//	shutdown lets handlers finish, then commits                   TestShutdownLetsHandlersFinishAndCommits
//	an orderly stop repeats no message whose handler has ended,
//	also behind one that has not                                  bustest AnOrderlyStopRepeatsNothing,
//	                                                              TestSixOrderlyStops
//	after the drain timeout contexts end                          TestDrainTimeoutCancelsContextsAndHandsBack
//	a cancelled handler hands its message back, uncounted         TestACancelledHandlerHandsBackUncounted
//	commits come before leftover contexts end                     TestContextsLiveUntilTheTransportHasCommitted
//	a message that the transport took back is left alone          TestRevokedMessages
//	order holds and nothing is lost over stops and failures       TestRandomHistoriesKeepOrderAndLoseNothing
//	processes of a group that are stopped or killed in a backlog
//	lose nothing and keep the order of each key                   TestSixOrderlyStops,
//	                                                              TestKillsOfThreeMembers
//	no wait outlives the shutdown                                 TestShutdownDuringBackoffAndPauseReturnsAtOnce
//	Run leaves no goroutine                                       TestRunLeavesNoGoroutine
//	goroutines and memory are bounded                             TestGoroutinesAreBoundedByConcurrency,
//	                                                              TestWindowBoundsWhatIsTakenFromTheSource
//	an ended context publishes nothing                            bustest EndedContextPublishesNothing
//	nobody closes what is shared                                  TestFault_StoppingAHandlerClosesASharedPublisher
//	errors of Open name what is wrong and hide passwords          TestOpenErrors
//	Open does not dial; Publish, Declare and Ping fail as
//	infrastructure while the server is absent                     bustest AnAbsentServerIsWaitedFor
//	consumers wait for it, at most 30 s between tries, and say so TestRunWaitsForAnAbsentServer,
//	                                                              TestSubscribeWaitsForAnAbsentServer
//	the end of the context, or Close, ends that wait at once      TestTheEndOfTheContextEndsTheWait
//	an error that waiting does not mend ends Run                  TestAPermanentErrorEndsRun
//
//	a batch goes out full, or after its wait                      TestABatchGoesOutWhenItIsFullOrOldEnough
//	a batch fills from the window, with one key if need be        TestHowFarABatchFills
//	in batches only what the handler names fails                  TestABatchErrorFailsOnlyWhatItNames
//	a batch that fails whole costs only the culprit               TestAWholeBatchThatFailsIsTakenApart
//	order holds and nothing is lost in batches, too               TestRandomHistoriesOfBatchesKeepOrderAndLoseNothing
//	infrastructure pauses a batch consumer, uncounted             TestInfrastructurePausesABatchConsumer,
//	                                                              TestABatchThatFailsDuringAPauseIsNotCounted
//	low gives way while high is behind, with hysteresis           TestLowIsHeldWhileHighIsBehind
//	low runs where the lag is unknown                             TestLowRunsWhereTheLagIsUnknown
//	obsolete events are acknowledged without work, and counted    TestObsoleteEventsAreAcknowledgedWithoutWork
//	a type without a handler is acknowledged, counted and told;
//	each type is logged once, 100 types at most                   TestTypesWithoutAHandlerAreIgnored,
//	                                                              TestIgnoredTypesAreBounded
//	a guard of another group is refused when it is added          TestAGuardOfAnotherGroupIsRefused
//	… one that the runner cannot see pauses its consumer          TestAHiddenGuardOfAnotherGroupPauses
//	a guarded handler gets its transaction as an argument         TestGuardedConsumersGetTheTransaction
//	lag is at hand without asking anybody                         TestLagMonitorRefreshesAndKeepsTheLastAnswer
//	a group gets messages again, from the beginning, a time or a
//	position, and nothing is remembered of its old position
//	(mem, SQL, Redis, Kafka)                                      bustest AResetGroupGetsEverythingAgain,
//	                                                              AResetGroupBeginsAtAPlace
//	groups are listed and deleted, there and on RabbitMQ          bustest GroupsAreListed, ADeletedGroupBeginsAnew
//	a group with members is not moved and not deleted             bustest ALiveGroupIsLeftAlone
//	retained messages can be read without a group                 bustest ReadConsumesNothing
//	each run of a handler, each pause and each publish is told    TestEachRunOfAHandlerIsTold, TestHooksOfTheRunner,
//	                                                              TestPublishingIsCounted
//
//	a delivery's span is the child of its message's, each attempt
//	a span of its own; a dead letter keeps its trace              TestADeliveryIsAChildOfItsMessage,
//	                                                              TestEveryAttemptIsASpanAndADeadLetterKeepsItsTrace
//	a batch's span links to its messages                          TestABatchLinksToItsMessages
//	who publishes without an outbox hands the trace on            TestATracedPublisherInjectsAndOverwritesNothing,
//	                                                              TestADeadLetterWithoutATraceGetsOne
//	without a provider a trace goes on, and costs nothing         TestWithoutAProviderATraceGoesOn,
//	                                                              TestWithoutAProviderTracesCostNothing
//	log lines about an event have its ids                         TestLogLinesAboutAnEventHaveItsIDs
//
// What a transport owes is checked by package bustest. Dead letters are looked
// after by package redrive.
//
// # How a message travels
//
// The engine fetches messages from the transport's source, see package driver, as far as
// the window has room. It queues them by key (event.Key; messages without a
// key are one key). Up to Concurrency workers run the handler, one message of a key at a
// time. A worker settles its message and takes the next by itself. A message that waits,
// for a delay or until a dependency is back, costs neither a worker nor a goroutine: a
// consumer has Concurrency goroutines and two more, beside those of the transport.
//
// [Bus.Subscriber] is the same engine with a channel for a handler: what is taken from it
// is out until it is acknowledged or nacked. Watermill's Router runs on it.
//
// An error is judged by fault.Of, with the consumer's Classifiers for errors of
// drivers. Attempts are counted in the process: after a restart, or when another
// instance takes over, a message starts with all its retries. A handler's
// failure while the consumer is paused is not counted either, since it may be
// another face of what is down.
//
// A pause concerns one consumer. Every message stays unacknowledged. After 1 s, 2 s,
// 4 s … 30 s one is tried: of another key than those that failed, and of one of them,
// in turn. Any outcome of that probe other than another infrastructure error ends the
// pause, and all that waited are tried at once. If the probe was of another key, what
// failed is suspect: it may be at fault itself, as a message whose query takes longer
// than the database may. From then on its failures do not pause the consumer: only its key
// waits, up to 30 s between attempts; when 20 windows of other messages have passed it, or
// after 15 minutes, its failures count as transient, but never in a pause.
//
// # Batches, pairs, and what is out of date
//
// A [BatchConsumer] gets many messages at once, for work that costs little more
// for a hundred than for one: counting views with one statement per batch is some
// 12 to 20 times faster on SQLite than with one per event (BenchmarkViewCounts).
// The engine departs from one message per key for it: it hands over the first
// few of a key together, and no more of that key until they are settled.
//
// Batches fill from the window: the transports of this module hand over up to
// Window messages unacknowledged, also of one key and one partition. With the
// capability OneAtATime, which Watermill's own subscribers have (package watermillbus),
// a batch holds at most one message per partition, and departs after its Wait; with
// SerialGroups it holds one message, and with LocksKeys only a few of a key.
//
// A [Pair] holds the low of two consumers back while the high one is behind. The
// lag comes from a [LagMonitor], which asks the transport in the background and
// answers metrics and requests from memory. Package busprom makes metrics of it, of
// [Bus.Stats] and of [Runner.Status].
//
// A consumer with [Current] skips events whose Sequence is out of date. [ByType] and
// the types of [HandleBatch] acknowledge events of other types: they are no business
// of the group, or a name is misspelt here. Hence they are counted as Ignored, not as
// Handled, and each type stands in the log once.
//
// # Groups and replay
//
// A topic with the capability Replay keeps what its groups have acknowledged, until its
// retention is over. [Bus.ResetGroup] moves a group that has no members, so that it gets
// messages again:
//
//	moved, err := b.ResetGroup(ctx, "payment.events", "stats", bus.Place{Since: noon}, false)
//
// Handlers with a guard of package idempotency skip what they have handled before: the
// command millrace replay says how many that are, and can forget their keys. A new group
// starts at the earliest message by itself, or where ResetGroup puts it after
// [Bus.Declare]. The transport decides whether a group has members, by leases or by
// Kafka's group state, and refuses in the same step: a member that starts meanwhile gets the group
// before the reset or after it.
//
// # Traces and logs
//
// With RunnerConfig.TracerProvider each delivery is a "process" span of
// OpenTelemetry's messaging conventions, the child of the trace context that the
// message carries, and the one that a handler's context has: what the handler appends
// to an outbox belongs to the same trace. Each attempt has a span, with its number
// (millrace.delivery.attempt), what became of it (millrace.delivery.outcome: handled,
// obsolete, ignored, retry, pause, dead_letter or hand_back), and for a failure
// error.type, one word, and its class (millrace.fault.class). A batch has one span,
// linked to its messages, with an event for each that failed. The text of an error is in the log
// line only, never in a span.
//
// The context of a handler that [Handle] or [ByType] made knows its event: package
// eventlog puts the ids into the handler's own log lines. The package's lines about an
// event have event_id and correlation_id, and never its payload.
//
// # Failure modes
//
//   - A process that is killed redelivers what it had not committed: at most
//     Window messages per consumer, also those behind the first unacknowledged
//     one that were handled already.
//   - A message that kills its process takes four with it where the transport counts starts
//     without progress, and all of them elsewhere. Messages of the partition before it are
//     handled again each time. A message of another consumer of the process that is
//     handled alone at two such moments is taken for the culprit.
//   - A handler that ignores its context holds up the end of Run; its message
//     was handed back before that, so another instance may handle it meanwhile.
//   - A dead letter is published before its message is acknowledged. A crash
//     between the two publishes it again, with the same id.
//   - A key that is being retried keeps its messages in the window. When the
//     window is full of them, other keys wait as well: size Window to
//     the messages of the busiest key in the longest retry (7 s by default).
//   - Dead letters wait for the group [RedriveGroup]. A transport that keeps what
//     a group has not read keeps them until somebody redrives or drops them; on
//     mem:// a dead letter topic that is full of them pauses its consumers.
//   - A batch handler that returns a bare error makes its messages go one by one;
//     one that names what failed keeps its batches.
//   - A transport that ends a subscription by itself ends Run with
//     [ErrSubscriptionLost], after all other consumers were shut down in order.
//   - Run waits while the transport's server is absent. It fails when topics cannot be
//     declared for another reason, such as a topic with another number of partitions.
//   - A wrong password looks like a server that is absent: Publish fails, consumers wait,
//     and the log says why. Call [Bus.Ping] at the start to find it then.
package bus

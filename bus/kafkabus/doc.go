// Package kafkabus is the transport kafka://: topics and consumer groups of
// Apache Kafka 2.4 and newer, 4.x included.
//
//	o := bus.NewOpener(kafkabus.Scheme(kafkabus.Config{}))
//	b, err := o.Open(ctx, "kafka://k1:9092,k2:9092/?replication=3")
//
// The host part lists brokers, each with its port, or none with one (9092).
// Parameters:
//
//	partitions=3         of a topic that is declared or used without a number
//	replication=3        of such a topic, with min.insync.replicas=2; the brokers' own when absent
//	retention=72h        of such a topic; the brokers' own when absent
//	partitioner=fnv      as Sarama's and Watermill's producers; murmur2 as Java's
//	client_id=millrace   what the brokers call this program
//	instance=pod-1       a name kept over restarts (static membership)
//	window=1024          cap of what a subscription has unacknowledged
//	lag=own              groups that Lag reports: of this process, or all
//	sasl=scram-sha-512   how the URL's user signs in; also scram-sha-256, plain
//	tls=true             encrypt; ca=, cert= and key= name PEM files
//
// All members of a mixed fleet must use one partitioner, or a key is in two
// partitions and its order is gone.
//
// # Guarantees
//
//	property                                                        proven by
//	the conformance suites, Watermill's and bustest's               TestConformance
//	Publish returns when every in-sync replica has the messages     TestConformance
//	retries repeat nothing and keep the order of each key           TestPublishUnderFaults
//	behind a failure, nothing of its key and call is published      TestRefusedMessageFailsAlone
//	a refused message fails alone                                   TestRefusedMessageFailsAlone
//	what is not known is said, and swallows nothing later           TestUnknownOutcome
//	brokers that forgot the producer are no obstacle                TestLostProducerState
//	topics may be deleted and made again, permissions given later   TestTopicChangesUnderPublisher, TestProducerIDRefused
//	what has no leader does not leave                               TestNoLeader
//	the end of a context or Close ends Publish                      TestContextEndsPublish, TestCloseEndsPublishing
//	memory of unpublished messages is bounded                       TestPublishBuffer
//	records are those of Watermill's Kafka packages                 TestWireFormat, TestPartitioners
//	records of aborted transactions are not delivered               TestAbortedTransactions
//	at most a window is unacknowledged, acks in any order           TestWindowBoundsWhatIsOut
//	only what is acknowledged without a gap is committed; an
//	orderly stop notes what is acknowledged behind a gap            TestConformance, TestNotes
//	a stuck partition leaves room for the others                    TestStuckPartitionLeavesRoom
//	what a crash repeats is bounded                                 TestSpan
//	members come and go without loss, in order, one at a time on
//	a key; nothing is repeated when they come                       TestRebalanceWhileBusy
//	a partition waits for what is out, but not for ever             TestHandOverTimeout
//	contexts end with the partition                                 TestLostPartition, TestCloseHandsOverAtOnce
//	a restarted instance gets its partitions back                   TestStaticInstance
//	broken connections, moved leaders and coordinators lose nothing TestConsumeUnderFaults
//	a broker that is away is waited for, and logged once            TestBrokerRestart
//	Close says what it could not commit                             TestCloseWithoutBroker
//	topics are made as declared, and not changed behind one's back  TestDeclare, TestDeclareErrors
//	declaring a group keeps its offsets                             TestDeclareKeepsOffsets
//	what is wrong with a URL is said, without its password          TestURLErrors, TestSignIn
//	connections are encrypted and both sides checked                TestTLS
//
// Durable, ordered per key, consumer groups, replay, broadcast. No delayed
// redelivery and no dead letters of its own: package bus does both.
//
// # Publishing
//
// The key of a message (event.Key) is the record's key and chooses the
// partition. Messages without a key count as one key: they have an empty one,
// and share a partition.
//
// Each partition has one batch under way; whatever is published meanwhile, by
// one call or by many callers, goes into the next. A lone message leaves at
// once. So throughput comes from many messages per call or from many concurrent
// calls: on a machine where Sarama's AsyncProducer sends 240,000 messages/s when
// driven flat out with the same settings, one caller publishes 1,900/s one by
// one, 100,000/s by hundreds and 220,000/s by five hundreds; 16 callers by
// hundreds, as an outbox relay does, 270,000/s (BenchmarkPublish).
//
// Batches have a producer id and sequence numbers, so a batch that is sent again
// because its answer was lost is in the topic once. Errors that may pass are
// retried for PublishTimeout; a message that the brokers refuse fails at once. A
// [bus.PublishError] says of every message whether it is in the topic, is not, or
// may be.
//
// # Consuming
//
// The group protocol is the classic one with cooperative sticky assignment: when
// members come and go, only the partitions that move are let go. A partition
// that moves is handed over when everything handed out of it is acknowledged, or
// after HandOverTimeout. Offsets are committed each CommitInterval, and before a
// partition is let go. Members with another assignment strategy, such as
// Watermill's own subscriber, cannot share a group with ours.
//
// With ?instance= a group waits SessionTimeout for a process that was closed or
// killed, instead of sharing out its partitions at once. Subscriptions of one
// process to one group are told apart by number, in the order they are made.
//
// # Topics and groups
//
// A topic that is used before it is declared is made with the defaults; brokers
// make none by themselves. Declaring a topic that exists with another number of
// partitions is an error, because growing it would move keys and break their
// order. Its retention is set to what is declared; its replication is left
// alone. A declared group without offsets gets the earliest ones committed.
//
// # Failure modes
//
// Open does not connect. While no broker answers, from the beginning or later, Publish
// tries for PublishTimeout, Declare fails, and both errors are infrastructure; consumers
// wait.
//
// After a crash, or when a member loses its partitions, messages that were
// handed out and not committed come again: those of the last CommitInterval, and
// behind the first unacknowledged one of each partition up to the window, at
// most 25,000. When a member closes, or a partition is let go in order, the commit's
// metadata says what is done behind the first message that is not, as far as 4,000
// bytes hold it (some 1,300 gaps); the next owner passes over that.
//
// A handler that is at work when its partition is lost sees its message's
// context end; it cannot be stopped, so for a moment two instances can be at
// work on one key.
//
// While the group shares out partitions anew, fetching from the broker that
// coordinates it can stall until all members have answered: a second usually, up
// to HandOverTimeout when one of them waits for its handlers.
//
// When a broker loses what it knew of a producer between an attempt and its
// repetition (it lost its disk, or an out-of-date replica was elected), the batch
// is published again as a new one, and may be there twice. The same holds when an
// attempt had no answer, and its repetition is answered with an error that the client
// takes for final: UNKNOWN_SERVER_ERROR, CORRUPT_MESSAGE, or for a second that the
// topic is unknown.
//
// Kafka forgets the offsets of a group that had no member for
// offsets.retention.minutes (7 days by default); the group then begins at the
// earliest message again.
//
// Lag counts offsets: records that compaction or transactions have taken out
// count as well. It costs a request per group, two per topic and broker, and one
// per partition that is behind. Oldest is the time at which the first
// uncommitted message was published.
package kafkabus

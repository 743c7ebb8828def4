// Package kafkabus is the transport kafka://: topics and consumer groups of
// Apache Kafka 2.4 and newer, 4.x included.
//
//	b, err := bus.Open(ctx, "kafka://k1:9092,k2:9092/?replication=3", kafkabus.Scheme(kafkabus.Config{}))
//
// The host part lists brokers, each with its port. A single broker without a port has 9092.
// Parameters:
//
//	partitions=3         of a topic that is declared or used without a number
//	replication=3        of such a topic, with min.insync.replicas=2; the brokers' own when absent
//	retention=72h        of such a topic; the brokers' own when absent
//	autocreate=false     a topic that was not declared is an error; true by default
//	partitioner=fnv      as Sarama's and Watermill's producers; murmur2 as Java's
//	mode=watermill       Watermill's own adapter, with the scheme of package kafkawatermill
//	prefix=staging.      before the names of all topics and groups, to keep environments apart;
//	                     no prefix may be the beginning of another environment's prefix
//	client_id=millrace   name of this program in the brokers' logs and quotas
//	instance=pod-1       a name kept over restarts (static membership)
//	protocol=classic     members assign partitions; with consumer the brokers do, see Consuming
//	window=1024          limit of the unacknowledged messages of a subscription
//	lag=own              groups that Lag reports: of this process, or all
//	sasl=scram-sha-512   how the URL's user signs in; also scram-sha-256, plain,
//	                     oauthbearer and aws-msk-iam, see Signing in
//	tls=true             encrypt; ca=, cert= and key= name PEM files
//
// All members of a mixed fleet must use one partitioner. With two, a key is in two
// partitions and its messages lose their order.
//
// # Guarantees
//
//	property                                                        proven by
//	the conformance suites, Watermill's and bustest's               TestConformance
//	Publish returns when every in-sync replica has the messages     TestConformance
//	retries keep the order of each key and repeat nothing, but for
//	one case (Failure modes)                                        TestPublishUnderFaults
//	behind a failure, nothing of its key and call is published      TestRefusedMessageFailsAlone
//	a refused message fails alone                                   TestRefusedMessageFailsAlone
//	unknown outcomes are reported, and do not affect later messages TestUnknownOutcome
//	a broker that lost the producer's state does not stop it        TestLostProducerState
//	topics may be deleted and recreated, permissions granted later  TestTopicChangesUnderPublisher, TestProducerIDRefused,
//	                                                                TestTopicMadeAgainUnderAConsumer
//	a batch waits until its partition has a leader                  TestNoLeader
//	the end of a context or Close ends Publish                      TestContextEndsPublish, TestCloseEndsPublishing
//	memory of unpublished messages is bounded                       TestPublishBuffer
//	records are those of Watermill's Kafka packages                 TestWireFormat, TestPartitioners
//	records of aborted transactions are not delivered, and neither
//	they nor those of open ones are shown by Browse and Pending     TestAbortedTransactions, TestCommittedMessagesAreShown
//	transaction markers at the end of a partition are no lag        TestLagPassesOverMarkers
//	at most a window is unacknowledged, acks in any order           TestWindowBoundsWhatIsOut
//	commits pass over no unacknowledged message; an orderly stop
//	notes the messages that are acknowledged behind a gap           TestConformance, TestNotes, TestNotesOfLostMessages
//	a stuck partition leaves room for the others                    TestStuckPartitionLeavesRoom
//	repetitions after a crash are bounded                           TestSpan
//	starts of a partition without progress are counted over crashes;
//	from the third on messages are handled one alone at a time, and
//	the commit names the message that was being handled             TestStartsWithoutProgress, TestSuspectsStayNoted,
//	                                                                TestProgressEndsTheCount
//	orderly stops, hand-overs, partitions lost by a live process
//	and idle starts do not count as crashes                         TestOrderlyStopsAreNoCrashes, TestHandOversAreNoCrashes,
//	                                                                TestLostPartitionsAreNoCrashes, TestIdleStartsDoNotCount
//	if counting is not permitted, messages are handled uncounted    TestStartsThatAreNotCounted
//	retention that deletes messages during a read does not end it   TestReadBehindRetention
//	memory of fetched messages is bounded, compressed or not        TestMemoryOfABacklog
//	a partition above that limit does not stop the others           TestFullPartitionLeavesRoom
//	members come and go without loss, in order, one at a time on
//	a key; nothing is repeated when they join                       TestRebalanceWhileBusy
//	a moving partition waits for messages in flight, with a timeout TestHandOverTimeout
//	contexts end with the partition                                 TestLostPartition, TestCloseHandsOverAtOnce
//	nothing is committed of a partition that was lost               TestNoCommitOfALostPartition
//	a restarted instance gets its partitions back                   TestStaticInstance
//	members of the previous release are replaced one by one         TestReleaseBefore
//	with partitions assigned by the brokers, groups consume, and
//	members come and go, as above                                   TestConsumingByBrokers, TestRebalanceByBrokers
//	members with another assignment strategy are reported           TestOtherStrategy
//	a prefix keeps two environments apart                           TestPrefixKeepsApart
//	broken connections, moved leaders and coordinators lose nothing TestConsumeUnderFaults
//	consumers wait for an unavailable broker, and log it once       TestBrokerRestart
//	Close reports acknowledgements that it could not commit         TestCloseWithoutBroker
//	requests to the cluster end with their context, and with Close  TestQuestionsEnd
//	topics are created as declared, and not changed silently        TestDeclare, TestDeclareErrors
//	with autocreate=false only Declare creates topics               TestAutocreate
//	declaring a group keeps its offsets                             TestDeclareKeepsOffsets
//	groups are reset and deleted by the coordinator, which refuses
//	while they have members                                         TestConformance
//	errors in a URL are reported without its secrets                TestURLErrors, TestSignIn, TestToken, TestMSKIAM
//	tokens and keys are requested again for each connection         TestToken, TestMSKIAM
//	TLS checks both sides, and its errors name the cause            TestTLS
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
// Each partition has one batch in flight. Messages that are published during that time, by
// one call or by many callers, go into the next batch. A lone message is sent at once.
// Throughput therefore comes from many messages per call or from many concurrent calls;
// BenchmarkPublish measures both beside a bare client of franz-go.
//
// Batches have a producer id and sequence numbers, so a batch that is sent again because
// its answer was lost is in the topic once. Transient errors are retried for
// PublishTimeout. A message that the brokers refuse fails at once. A [bus.PublishError]
// reports for each message whether the message is in the topic, is not, or may be.
//
// # Consuming
//
// The group protocol is the classic one with cooperative sticky assignment: when members
// come and go, only the partitions that move are revoked. A moving partition is handed over
// when all its messages in flight are acknowledged, or after HandOverTimeout. Offsets are
// committed each CommitInterval, and before a partition is handed over. Members with
// another assignment strategy, such as Watermill's own subscriber, cannot share a group
// with ours: consumers log this, and wait until the last of those members is gone.
//
// With ?protocol=consumer the brokers assign partitions (KIP-848, Kafka 4.0 and newer), and
// members do not wait for each other. A moving partition still waits for its messages in
// flight, commits carry the member's epoch, and their notes stay. It is not the default,
// because settings of the brokers replace SessionTimeout and our heartbeats: a killed
// process keeps its partitions for 45 s (group.consumer.session.timeout.ms), and a
// partition moves in some 10 s instead of 2 (group.consumer.heartbeat.interval.ms). It
// cannot be combined with ?instance=, because brokers refuse the name of a killed process
// for as long. Before Kafka 4.3 a commit can be refused as stale while partitions move. If
// that commit was the last of a leaving member, the messages acknowledged last are
// delivered again. Members of both protocols can share a group while its processes are
// replaced. On brokers without KIP-848 the members assign partitions.
//
// A consumer keeps some 8 MB of messages in memory, beside those in its window and those of
// one or two fetches, which are sized to bring 4 MB. Fetching of a partition pauses while
// its handling falls behind, and the other partitions continue. Each consumer has its own
// client, also beside other consumers of its group in a process. With the engine a consumer
// has 13 goroutines, and after its start a connection to the group's coordinator and one to
// each broker that leads its partitions.
//
// With ?instance= a group waits SessionTimeout for a process that was closed or killed,
// before its partitions are assigned to others. Subscriptions of one process to one group
// are told apart by number, in the order of their creation.
//
// # Topics and groups
//
// A topic that is used before it is declared is created with the defaults; brokers create
// no topics on their own. With ?autocreate=false, Publish and Subscribe fail there until
// Declare or an operator has created the topic: the error is infrastructure, so consumers
// wait. Declaring a topic that exists with another number of partitions is an error,
// because growing it would move keys and break their order. Declare sets the retention of
// an existing topic and leaves its replication unchanged. A declared group without offsets
// gets the earliest ones committed.
//
// # Signing in
//
//	kafka://user:password@host/?sasl=scram-sha-512             also scram-sha-256; plain needs tls=true to be secret
//	kafka://:token@host/?tls=true&sasl=oauthbearer             the token itself; a user before it must be the token's
//	kafka://host/?tls=true&sasl=oauthbearer&token_file=PATH    a token in a file, read again for each connection
//	kafka://host/?tls=true&sasl=oauthbearer                    with [Config].Token
//	kafka://id:key@host/?tls=true&sasl=aws-msk-iam             keys of AWS; &session_token= for those that expire
//	kafka://host/?tls=true&sasl=aws-msk-iam                    with [Config].AWS
//
// The region of aws-msk-iam is part of the names of MSK's brokers; with other names it is
// the environment's AWS_REGION. If a broker limits the length of a session, clients sign in
// again on the same connection.
//
// # Failure modes
//
// Open does not connect. While no broker answers, from the beginning or later, Publish
// tries for PublishTimeout, Declare fails, and both errors are infrastructure; consumers
// wait.
//
// After a crash, or when a member loses its partitions, messages that were delivered and
// not committed are delivered again: those of the last CommitInterval, and behind the first
// unacknowledged message of each partition up to the window, at most 25,000. When a member
// closes, or a partition is handed over in order, the commit's metadata lists the messages
// that are done behind the first unacknowledged one, as far as 4,000 bytes hold them (some
// 1,300 gaps); the next owner skips these messages. Brokers with less room refuse the list, and
// get the acknowledgements before the first gap alone.
//
// The first message of a partition waits for a commit, which counts the start in the same
// metadata. Progress, an orderly stop and a hand-over reset the count. If two starts before
// this one were not reset, the next messages of the partition, a window or at most 256, are
// handled one at a time: each costs two commits. A release that does not know the counts
// ignores them, and after a crash delivers again the messages that were noted beside them.
// A live member that loses its partitions to another member leaves a count, as a crash does.
//
// When a partition is lost, the contexts of its messages end. A handler at work cannot be
// stopped, so for a moment two instances can work on one key.
//
// While the group reassigns its partitions, commits and fetching from the broker that
// coordinates it can stall until all members have answered: a second usually, up to
// HandOverTimeout when a member waits for its handlers.
//
// When a broker loses the state of a producer between an attempt and its repetition (its
// disk was lost, or an out-of-date replica was elected), the batch is published again as a
// new one, and may be in the topic twice. The same holds when an attempt had no answer, and
// its repetition is answered with an error that the client takes for final:
// UNKNOWN_SERVER_ERROR, CORRUPT_MESSAGE, or for a second that the topic is unknown.
//
// Kafka forgets the offsets of a group that had no member for
// offsets.retention.minutes (7 days by default); the group then begins at the
// earliest message again.
//
// Lag counts offsets, from the group's first message on. Transaction markers and aborted
// messages before that message do not count, as far as three small reads skip them. Offsets
// behind it do count if compaction removed their messages, or if they hold markers or
// aborted messages. So do messages of an open transaction, which are not readable yet: a
// hanging transaction shows as lag. Lag costs a request per group, one about the topics,
// two per broker, and one to three per partition that is behind. Oldest is the time at
// which the first of the messages was published; it is zero while that message is not readable.
//
// Browse looks for the newest messages before the long holes that compaction and aborted
// transactions leave. It reads back at most 1,000 times as many offsets as messages were
// asked for; if these offsets hold fewer messages, it shows fewer.
package kafkabus

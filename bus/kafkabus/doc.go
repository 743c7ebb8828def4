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
//	autocreate=false     a topic that was not declared is an error; true by default
//	partitioner=fnv      as Sarama's and Watermill's producers; murmur2 as Java's
//	mode=watermill       Watermill's own adapter, with the scheme of package kafkawatermill
//	prefix=staging.      before the names of all topics and groups, to keep environments apart;
//	                     none may begin with the whole of another's
//	client_id=millrace   what the brokers call this program
//	instance=pod-1       a name kept over restarts (static membership)
//	protocol=classic     how groups share out partitions; consumer has the brokers do it, see Consuming
//	window=1024          cap of what a subscription has unacknowledged
//	lag=own              groups that Lag reports: of this process, or all
//	sasl=scram-sha-512   how the URL's user signs in; also scram-sha-256, plain,
//	                     oauthbearer and aws-msk-iam, see Signing in
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
//	retries keep the order of each key and repeat nothing, but for
//	one case (Failure modes)                                        TestPublishUnderFaults
//	behind a failure, nothing of its key and call is published      TestRefusedMessageFailsAlone
//	a refused message fails alone                                   TestRefusedMessageFailsAlone
//	what is not known is said, and swallows nothing later           TestUnknownOutcome
//	brokers that forgot the producer are no obstacle                TestLostProducerState
//	topics may be deleted and made again, permissions given later   TestTopicChangesUnderPublisher, TestProducerIDRefused
//	what has no leader does not leave                               TestNoLeader
//	the end of a context or Close ends Publish                      TestContextEndsPublish, TestCloseEndsPublishing
//	memory of unpublished messages is bounded                       TestPublishBuffer
//	records are those of Watermill's Kafka packages                 TestWireFormat, TestPartitioners
//	records of aborted transactions are not delivered, and neither
//	they nor those of open ones are shown by Browse and Pending     TestAbortedTransactions, TestCommittedMessagesAreShown
//	what transactions leave at the end of a partition is no lag     TestLagPassesOverMarkers
//	at most a window is unacknowledged, acks in any order           TestWindowBoundsWhatIsOut
//	only what is acknowledged without a gap is committed; an
//	orderly stop notes what is acknowledged behind a gap            TestConformance, TestNotes
//	a stuck partition leaves room for the others                    TestStuckPartitionLeavesRoom
//	what a crash repeats is bounded                                 TestSpan
//	starts of a partition without progress are counted over crashes;
//	from the third on messages are handled one alone at a time, and
//	the commit says which was at work                               TestStartsWithoutProgress, TestSuspectsStayNoted,
//	                                                                TestProgressEndsTheCount
//	orderly stops, hand-overs, lost partitions of a process that
//	lives and idle starts are no crashes                            TestOrderlyStopsAreNoCrashes, TestHandOversAreNoCrashes,
//	                                                                TestLostPartitionsAreNoCrashes, TestIdleStartsDoNotCount
//	without the right to count, messages are handled uncounted      TestStartsThatAreNotCounted
//	memory of what is fetched is bounded, compressed or not         TestMemoryOfABacklog
//	a partition with more than that leaves room, and goes on        TestFullPartitionLeavesRoom
//	members come and go without loss, in order, one at a time on
//	a key; nothing is repeated when they come                       TestRebalanceWhileBusy
//	a partition waits for what is out, but not for ever             TestHandOverTimeout
//	contexts end with the partition                                 TestLostPartition, TestCloseHandsOverAtOnce
//	nothing is committed of a partition that was lost               TestNoCommitOfALostPartition
//	a restarted instance gets its partitions back                   TestStaticInstance
//	members of the release before are replaced one by one           TestReleaseBefore
//	groups consume, and members come and go, as above where the
//	brokers share out partitions                                    TestConsumingByBrokers, TestRebalanceByBrokers
//	members that share out partitions in another way are named      TestOtherStrategy
//	a prefix keeps two environments apart                           TestPrefixKeepsApart
//	broken connections, moved leaders and coordinators lose nothing TestConsumeUnderFaults
//	a broker that is away is waited for, and logged once            TestBrokerRestart
//	Close says what it could not commit                             TestCloseWithoutBroker
//	what the cluster is asked ends with its context, and with Close TestQuestionsEnd
//	topics are made as declared, and not changed behind one's back  TestDeclare, TestDeclareErrors
//	with autocreate=false only Declare makes topics                 TestAutocreate
//	declaring a group keeps its offsets                             TestDeclareKeepsOffsets
//	groups are reset and deleted by the coordinator, which refuses
//	while they have members                                         TestConformance
//	what is wrong with a URL is said, without its secrets           TestURLErrors, TestSignIn, TestToken, TestMSKIAM
//	tokens and keys are asked for again for each connection         TestToken, TestMSKIAM
//	TLS checks both sides, and what is wrong with it is said        TestTLS
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
// calls; BenchmarkPublish measures both beside a bare client of franz-go.
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
// Watermill's own subscriber, cannot share a group with ours: consumers wait until the
// last of them is gone, and the log says so.
//
// With ?protocol=consumer the brokers share out partitions (KIP-848, Kafka 4.0 and newer), and
// members do not wait for each other. A partition that moves still waits for what is out of it,
// commits carry the member's epoch, and their notes stay. It is not the default, because
// settings of the brokers take the place of SessionTimeout and of our heartbeats: a killed
// process keeps its partitions for 45 s (group.consumer.session.timeout.ms), and a partition
// moves in some 10 s instead of 2 (group.consumer.heartbeat.interval.ms). It does not go with
// ?instance=, because brokers refuse the name of a killed process for as long. Before Kafka
// 4.3 a commit can be refused as stale while partitions move; if it was the last of a member
// that leaves, the messages that were acknowledged last are delivered again. Members of both
// protocols can share a group while its processes are replaced. On brokers without KIP-848 the
// members share out partitions.
//
// A consumer has some 8 MB of messages in memory beside those in its window, and those of
// one or two fetches, which are sized to bring 4 MB. A partition that is not handled fast
// enough is fetched no more until it has little left, and the others go on. Each consumer
// has a client of its own, also beside others of its group in a process. With the engine these
// are 13 goroutines, and once the start is over a connection to the group's coordinator and one
// to each broker that leads its partitions.
//
// With ?instance= a group waits SessionTimeout for a process that was closed or
// killed, instead of sharing out its partitions at once. Subscriptions of one
// process to one group are told apart by number, in the order they are made.
//
// # Topics and groups
//
// A topic that is used before it is declared is made with the defaults; brokers
// make none by themselves. With ?autocreate=false, Publish and Subscribe fail there
// until Declare or an operator has made the topic: the error is infrastructure, so
// consumers wait. Declaring a topic that exists with another number of
// partitions is an error, because growing it would move keys and break their
// order. Its retention is set to what is declared; its replication is left
// alone. A declared group without offsets gets the earliest ones committed.
//
// # Signing in
//
//	kafka://user:password@host/?sasl=scram-sha-512             also scram-sha-256; plain needs tls=true to be secret
//	kafka://:token@host/?tls=true&sasl=oauthbearer             the token itself; a user in front of it must be the token's
//	kafka://host/?tls=true&sasl=oauthbearer&token_file=PATH    a token that others renew: each connection reads the file
//	kafka://host/?tls=true&sasl=oauthbearer                    with [Config].Token
//	kafka://id:key@host/?tls=true&sasl=aws-msk-iam             keys of AWS; &session_token= for those that expire
//	kafka://host/?tls=true&sasl=aws-msk-iam                    with [Config].AWS
//
// The region of aws-msk-iam is in the names of MSK's brokers; under other names it is
// the environment's AWS_REGION. Where a broker limits how long a session lasts, clients
// sign in again on the same connection.
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
// The first message of a partition waits for a commit, which counts the start in the same
// metadata. Progress, an orderly stop and a hand-over take the count back. A partition with
// two starts before that took nothing back has its next messages, a window or at most 256,
// handled alone: each costs two commits. A release that does not know the counts ignores
// them, and after a crash delivers again what was noted beside them. A member that loses its
// partitions to another member, and lives, leaves a count as a crash does.
//
// A handler that is at work when its partition is lost sees its message's
// context end; it cannot be stopped, so for a moment two instances can be at
// work on one key.
//
// While the group shares out partitions anew, commits and fetching from the broker
// that coordinates it can stall until all members have answered: a second usually, up
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
// Lag counts offsets, from the group's first message on. Transaction markers and aborted
// messages in front of that message do not count, as far as three small reads pass over
// them. What compaction has taken out behind it, and markers and aborted messages between
// messages, do count. So do messages of an open transaction, which are not readable yet:
// a transaction that hangs shows as lag. Lag costs a request per group, one about the
// topics, two per broker, and one to three per partition that is behind. Oldest is the time
// at which the first of the messages was published; it is zero while that is not readable.
//
// Browse looks for the newest messages in front of long holes, which compaction and
// aborted transactions leave, as far as 1,000 times the messages that it was asked for;
// if these offsets hold fewer messages, it shows fewer.
package kafkabus

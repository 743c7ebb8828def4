// Package natsbus is the transport nats://: topics and consumer groups in NATS JetStream,
// on one server or on a cluster.
//
//	b, err := bus.Open(ctx, "nats://user:password@h1:4222,h2:4222/?replicas=3", natsbus.Scheme(natsbus.Config{}))
//
// NATS 2.14 or later is needed, with JetStream. tls:// is the same over TLS. Parameters:
//
//	prefix=millrace  of all names in NATS, to share a server with others
//	partitions=3     of a topic that is used before it is declared
//	replicas=1       servers that keep a new topic's messages, and the cursors; 3 in a cluster
//	retention=72h    how long messages are kept that every group has acknowledged
//	token=           signs in by a token; so does nats://token@host
//	creds=           signs in by a file of credentials
//	tls=true         TLS, with the system's authorities unless ca= names others
//	ca=, cert=, key= files in PEM: the authority to trust, and a client certificate
//
// Config.Options accepts any other option of the client.
//
// # Guarantees
//
//	property                                                      proven by
//	the conformance suites, Watermill's and bustest's             TestConformance
//	a killed server loses nothing it accepted, order holds        TestServerKilled
//	with three replicas, a lost leader loses nothing either       TestClusterFailover
//	too few servers for the replicas are an outage                TestTooFewServers
//	broken connections lose nothing, order holds                  TestConnectionsCut
//	a server that refuses the sign-in for a while is an outage    TestPasswordRefusedForAWhile
//	batches of several processes at once are stored whole, once   TestBatchesAtOnce
//	an unfinished batch takes no messages of the next one         TestUnfinishedBatch
//	Publish ends with its context and reports known outcomes      TestStalledServer
//	of one call, nothing overtakes a message that was refused     TestNothingOvertakesARefusedMessage
//	batches of any size are stored and read whole                 TestLargeBatches
//	a topic that stores nothing fails no calls to others          TestATopicThatFailsLeavesOthersAlone
//	a topic that does not answer delays none                      TestATopicThatHangsDelaysNoOther
//	a holder that lost its lease moves nothing                    TestFencing
//	a lost answer loses no lease                                  TestLostAnswerLosesNoLease
//	one of many members gets a free lease                         TestLeaseRush
//	cursors move in parallel and independently                    TestCursorsMoveTogether
//	traces of crashes are kept until the cursor moves             TestStarts
//	a request ends when its connection breaks                     TestRequestEndsWithItsConnection
//	another process's messages arrive without polling             TestOtherProcessWakes
//	retention deletes only messages that all groups acknowledged  TestPrune
//	members are known while they live                             TestMembers, TestLastMemberDies
//	metadata are headers; other writers' messages are delivered   TestWire, FuzzMetadata
//	any name of a topic or group is possible                      FuzzToken, TestDeclare
//	pending and newest messages can be browsed                    TestPendingAndBrowse
//	after the loss of a disk, running processes continue          TestDiskLost, TestNewStreamIsReadFromItsBeginning
//	users, tokens, credentials and TLS                            TestSignIn, TestCredentials, TestTLS
//	errors in a URL are reported without its secrets              TestURLErrors, FuzzURL
//
// Durable, ordered per key, consumer groups, broadcast. No delayed redelivery and no dead
// letters of its own: package bus does both.
//
// # Order, and how it is kept
//
// A topic is a stream, and each partition is a subject of the stream; the key of a message
// (FNV-1a) chooses the partition. The messages of one call go to the server as an ordered
// batch (JetStream's fast batches in the mode "fail"): the server stores the messages in
// their order, and stores nothing behind a message that is missing or refused. So a batch
// may be sent without waiting in between, and a caller that repeats a failed call keeps the
// order of keys.
//
// A partition has one reader of a group at a time: the holder of a lease. There are no
// consumers of JetStream, because they deliver a message again behind newer ones. The
// holder reads the partition's messages by sequence (Direct Get), hands out up to a window
// of them, and writes the longest prefix that is acknowledged.
//
// Cursor, lease and the traces of crashes are one key of a KV bucket. Each write of the key
// names the revision that it replaces, so that a holder whose lease was taken by another can
// write nothing: the revision is the fencing token. A lease expires, and a member of a group
// is dead, by the clock of the server that leads the bucket: JetStream notes when a key was
// written, and a reader asks that server for its time. Clocks of clients do not matter. The
// clocks of a cluster's servers must not differ by more than a part of LeaseTTL.
//
// The duplicate window of JetStream is not used: a dead letter that is published again
// keeps its id, and the window would drop it. A message with an unknown outcome may be
// stored twice if it is published again; idempotent handlers apply it once.
//
// # Names in NATS
//
//	millrace+topic                    the stream of a topic; its metadata say partitions and retention
//	millrace.topic.0 …                the subjects of its partitions
//	KV_millrace                       the bucket: cursor.topic.0.group, member.topic.group.id
//	millrace-wake, millrace-wake.…    core messages: a message, or a change in a group
//
// Bytes other than letters, digits, - and _ are written as =2E is for a dot. A message has
// its metadata as headers, its id as _watermill_message_uuid, as Watermill's marshaler for
// NATS has it; metadata that no header can carry are JSON in Millrace-Metadata. Programs
// that publish to a partition's subject by themselves wake no reader: their messages arrive
// with the next poll (Config.PollInterval).
//
// # Failure modes
//
// Streams and the bucket are files. A killed server loses nothing: it passes each message
// to its operating system before it confirms it. A machine that loses its power may lose
// messages that the server had not synced, by default up to two minutes (sync_interval in
// the server's configuration; "always" syncs before each answer).
//
// With replicas=3 a message is confirmed when two of three servers have it. The loss of one
// server stops the topic until the others have elected a leader: 5 to 20 s. In 510
// failovers under load (140 leaders killed, 270 shut down, 100 stepped down) every accepted
// message was delivered, in order. A server that hangs takes longer than a dead one: the
// others send requests to it until they drop their connections to it, and consumers stopped
// for up to 100 s. Change the replicas of an existing stream with NATS's own tool (nats
// stream edit). With replicas=1 a cluster keeps each stream on one server, and its topic
// cannot be used while that server is absent.
//
// Open does not connect. The first use refuses a server before 2.14 or without JetStream.
// While no server answers, or a stream elects a leader, Publish fails with an
// infrastructure error and consumers wait. The same holds if a cluster has too few servers
// for the replicas of a new topic. A message larger than the server's max_payload (1 MiB by
// default) is refused as permanent.
//
// The cursor of a group that is no longer used keeps its messages: delete the group
// (millrace group delete). If you delete a topic's stream while processes use it, restart
// them. If a server has lost streams and bucket together, processes need no restart. A
// process that is killed keeps its partitions for LeaseTTL (10 s), unless it has a name
// (Config.Holder); messages that it had not confirmed are delivered again.
package natsbus

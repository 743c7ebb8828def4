// Package redisbus is the transport redis://: topics and consumer groups in
// Redis Streams, on one server, on the master behind Sentinels or on a Redis
// Cluster. It is for the time before Kafka: it needs nothing but the Redis that is
// there anyway, and it is as durable as that is.
//
//	o := bus.NewOpener(redisbus.Schemes(redisbus.Config{})...)
//	b, err := o.Open(ctx, "redis://user:password@host:6379/0")
//
// rediss:// is the same over TLS; redis://h1:7001,h2:7002,h3:7003/ is a Cluster;
// redis://user:password@s1:26379,s2:26379,s3:26379/0?master=mymaster is the master
// that these Sentinels name, whose user, password and database the URL has.
// Redis 7.0 or later is needed. Parameters:
//
//	cluster=true      the one host named is a node of a Cluster
//	master=           the hosts are Sentinels, and this is their name for the master
//	sentinel_user=, sentinel_password=
//	                  the sign-in at Sentinels that ask for their own
//	prefix=           of all names in Redis, to share a server with others
//	partitions=3      of a topic that is used before it is declared
//	retention=72h     how long messages are kept that every group has acknowledged
//	maxlen=           most messages of a partition; Publish fails at it (ErrFull)
//	                  rather than drop what a group still has to see
//	wait=             replicas that must confirm before Publish returns; not on a
//	                  Cluster
//
// # Guarantees
//
//	property                                                      proven by
//	the conformance suites, Watermill's and bustest's             TestConformance, TestConformanceOnCluster
//	a killed server loses nothing it accepted, order holds
//	(appendfsync always)                                          TestServerKilled
//	broken connections lose nothing, order holds                  TestConnectionsCut
//	a call of Publish is sent once, answer or not                 TestStalledServer
//	killed consumers lose nothing and skip nothing                TestKilledConsumers
//	a holder that lost its lease moves nothing                    TestFencing
//	what one call publishes to a partition is all there or none   TestErrorClasses
//	Watermill's own publisher and subscriber work beside          TestWatermillReadsAndWrites
//	pending entries of XREADGROUP are reclaimed                   TestPendingIsReclaimed
//	XINFO GROUPS shows what is not acknowledged                   TestNativeLag, TestLagByCounting
//	another process's messages arrive at once, without polling    TestOtherProcessWakes
//	partitions of a topic use several nodes of a Cluster          TestPartitionsSpreadOverCluster
//	what a group has not done can be looked at                    TestPendingIsShown
//	retention takes only what every group has acknowledged        TestPrune
//	a bound takes nothing either, Publish fails instead           TestMaxLen
//	replicas have what Publish waited for                         TestWait
//	a failover by Sentinels loses nothing that every replica of
//	the master confirmed (wait=), order holds                     TestSentinelFailover
//	a URL's Sentinels are asked over TLS, with their own sign-in  TestSentinelTLSAndPasswords
//	without a master Publish fails, and says what to correct      TestSentinelWithoutMaster
//	after FLUSHALL, SCRIPT FLUSH or XGROUP DESTROY work goes on   TestFlushAll, TestFlushAllBeforeOneMessage,
//	                                                              TestForgottenScripts, TestDestroyedGroup
//	… in the order of each key                                    TestFlushAll, TestNewStreamBeginsBehindTheOld
//	errors have a class and a sentinel                            TestErrorClasses
//	what is wrong with a URL is said, no secret is                TestURLErrors
//	TLS works, and what is wrong with it is said                  TestTLSAndPassword
//
// Durable, ordered per key, consumer groups, broadcast. No delayed redelivery
// and no dead letters of its own: package bus does both.
//
// # Order, and how it is kept
//
// A topic is as many streams as it has partitions; the key of a message (FNV-1a)
// chooses one. Each stream has one reader of a group at a time: the holder of a
// lease in Redis, which the members share out among themselves. It reads ahead,
// hands out up to a window of messages, and writes down the longest prefix that
// is acknowledged, if the lease is still its own; what is acknowledged behind it is
// kept for the next holder when a partition is given up. Everything that a step touches
// is in one slot, and is done by one script; a message that is published alone is
// appended by XADD. Readers are woken behind that by PUBLISH: of the first message at
// once, then of what has come in a millisecond.
//
// # Names in Redis
//
//	{topic:0} …                         the partitions' streams; just topic where
//	                                    there is one partition
//	millrace:topics                     hash of the topics
//	millrace:lease:{topic:0}:group      hash of holder and token; it expires
//	millrace:members:{topic}:group      hash of the group's live members; it expires
//	millrace:wake:topic                 channel: a message, or a change in a group
//
// A group is a consumer group of each stream. Its last-delivered-id is the last
// message of the acknowledged prefix, so that its lag in XINFO GROUPS is what is
// not acknowledged, and whoever reads with XREADGROUP later goes on from there.
// The reader itself reads with XRANGE: a pending list would cost Redis memory
// and a write for each message, to say what the prefix says.
//
// Entries have the fields of Watermill's marshaler. With partitions=1 a topic is
// the very stream that Watermill's publisher and subscriber call by its name. Do
// not let both kinds of subscriber work in one group at once. Messages of foreign
// publishers wake nobody: they arrive with the next poll (Config.PollInterval).
//
// A group that no longer exists keeps its messages from being pruned: remove it
// by XGROUP DESTROY on each stream.
//
// # Failure modes
//
// Durability is the server's: with appendfsync always nothing that Publish
// accepted is lost by a crash; with everysec, the default of appendonly, up to
// two seconds; without appendonly everything. A failover to a replica loses what
// that replica did not have. If ?wait= is the number of the master's replicas, nothing
// accepted is lost, and Publish fails while one replica is away. A smaller number makes
// a loss rare: Sentinels may promote a replica that has less than another. Groups go on
// from what the new server has: acknowledgements that were lost come again. The clocks of
// servers must not differ by more than a failover takes, since ids are times.
//
// Open does not connect. The first use refuses a Redis before 7.0. While Redis is away,
// from the beginning or later, out of memory, or read-only, Publish fails with an
// infrastructure error and consumers wait. An error of Publish says nothing about
// whether the messages are there: who publishes them again may publish them
// twice, in the same order.
//
// FLUSHALL loses all messages and all groups. Processes that are at work make
// both again and go on from the earliest message then there.
//
// A process that is killed keeps its partitions for LeaseTTL (10 s); what it had
// not confirmed comes again. Eviction (maxmemory-policy other than noeviction)
// deletes whole streams and must be off.
package redisbus

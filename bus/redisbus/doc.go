// Package redisbus is the transport redis://: topics and consumer groups in Redis Streams,
// on one server, on the master behind Sentinels or on a Redis Cluster. It is for the time
// before Kafka: it needs only a Redis that you run already, and is as durable as that Redis.
//
//	b, err := bus.Open(ctx, "redis://user:password@host:6379/0", redisbus.Scheme(redisbus.Config{}))
//
// rediss:// is the same over TLS; redis://h1:7001,h2:7002,h3:7003/ is a Cluster;
// redis://user:password@s1:26379,s2:26379,s3:26379/0?master=mymaster is the master that
// these Sentinels name, with the user, password and database of the URL. Redis 7.0 or later
// is required. Parameters:
//
//	cluster=true      the one host named is a node of a Cluster
//	master=           the hosts are Sentinels, and this is their name for the master
//	sentinel_user=, sentinel_password=
//	                  the sign-in at Sentinels that ask for their own
//	prefix=           of all names in Redis, to share a server with others
//	partitions=3      of a topic that is used before it is declared
//	retention=72h     how long messages are kept that every group has acknowledged
//	maxlen=           most messages of a partition; Publish fails at it
//	                  rather than drop messages that a group has not acknowledged
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
//	messages of a call to one partition are appended all or none  TestErrorClasses
//	a partition that refuses messages fails no calls to others    TestAFullTopicLeavesOthersAlone
//	Watermill's own publisher and subscriber work beside          TestWatermillReadsAndWrites
//	pending entries of XREADGROUP are reclaimed                   TestPendingIsReclaimed
//	XINFO GROUPS shows unacknowledged messages                    TestNativeLag, TestLagByCounting
//	another process's messages arrive at once, without polling    TestOtherProcessWakes
//	partitions of a topic use several nodes of a Cluster          TestPartitionsSpreadOverCluster
//	a node of a Cluster that does not answer stops no partition
//	on the others                                                 TestAHungNodeStopsNoOthers
//	messages that a group has not acknowledged can be browsed     TestPendingIsShown
//	retention deletes only messages that all groups acknowledged  TestPrune
//	maxlen deletes no others either: Publish fails instead        TestMaxLen
//	replicas have the messages that Publish waited for            TestWait
//	a failover by Sentinels loses nothing that every replica of
//	the master confirmed (wait=), order holds                     TestSentinelFailover
//	a URL's Sentinels are asked over TLS, with their own sign-in  TestSentinelTLSAndPasswords
//	without a master Publish fails, and names the correction      TestSentinelWithoutMaster
//	after FLUSHALL, SCRIPT FLUSH or XGROUP DESTROY work continues TestFlushAll, TestFlushAllBeforeOneMessage,
//	                                                              TestForgottenScripts, TestDestroyedGroup
//	… in the order of each key                                    TestFlushAll, TestNewStreamBeginsBehindTheOld
//	errors have a class and a sentinel                            TestErrorClasses
//	errors in a URL are reported without its secrets              TestURLErrors
//	TLS works, and its errors name the cause                      TestTLSAndPassword
//
// Durable, ordered per key, consumer groups, broadcast. No delayed redelivery
// and no dead letters of its own: package bus does both.
//
// # Order, and how it is kept
//
// A topic is as many streams as it has partitions; the key of a message (FNV-1a) chooses
// one. Each stream has one reader of a group at a time: the holder of a lease in Redis. The
// members share out these leases among themselves. The reader reads ahead, hands out up to
// a window of messages, and writes the longest acknowledged prefix, if it still holds the
// lease; acknowledgements behind the prefix are kept for the next holder when a partition
// is released. Each step uses keys of one slot only, and is done by one script; a message
// that is published alone is appended by XADD. PUBLISH then wakes the readers: for the
// first message at once, then for all messages of a millisecond.
//
// # Names in Redis
//
//	{topic:0} …                         the partitions' streams; just topic if
//	                                    there is one partition
//	millrace:topics                     hash of the topics
//	millrace:lease:{topic:0}:group      hash of holder and token; it expires
//	millrace:starts:{topic:0}:group     hash of what a group left open; it expires
//	millrace:members:{topic}:group      hash of the group's live members; it expires
//	millrace:wake:topic                 channel: a message, or a change in a group
//
// A group is a consumer group of each stream. Its last-delivered-id is the last message of
// the acknowledged prefix, so its lag in XINFO GROUPS is its unacknowledged messages, and a
// later XREADGROUP continues from there. The reader itself reads with XRANGE: a pending
// list would cost Redis memory and a write for each message, for the same information as
// the prefix.
//
// Entries have the fields of Watermill's marshaler. With partitions=1 a topic is the same
// stream as Watermill's publisher and subscriber use under its name. Do not run both kinds
// of subscriber in one group at once. Messages of foreign publishers wake no reader: they
// arrive with the next poll (Config.PollInterval).
//
// A group that is no longer used keeps its messages from being pruned: remove it by XGROUP
// DESTROY on each stream.
//
// # Failure modes
//
// Durability is the server's. With appendfsync always a crash loses no accepted message;
// with everysec, the default of appendonly, up to two seconds; without appendonly
// everything. A failover to a replica loses the messages that the replica did not have. If
// ?wait= is the number of the master's replicas, no accepted message is lost, and Publish
// fails while one replica is unavailable. A smaller number makes a loss rare: Sentinels may
// promote a replica that has less than another. Groups continue from the state of the new
// server: messages whose acknowledgements were lost are delivered again. The clocks of
// servers must not differ by more than a failover takes, since ids are times.
//
// Open does not connect. The first use refuses a Redis before 7.0. While Redis is
// unavailable, from the beginning or later, out of memory, or read-only, Publish fails with
// an infrastructure error and consumers wait. After an error of Publish the messages may be
// in the stream or not: publishing them again may repeat them, in the same order.
//
// FLUSHALL loses all messages and all groups. Running processes create both again and
// continue from the earliest message then there.
//
// A process that is killed keeps its partitions for LeaseTTL (10 s); messages that it had
// not confirmed are delivered again. Eviction (maxmemory-policy other than noeviction)
// deletes whole streams and must be off.
package redisbus

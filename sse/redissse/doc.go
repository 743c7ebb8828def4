// Package redissse limits live streams across instances, and carries messages
// between them, by Redis or a Redis Cluster.
//
//	streams, broker, err := redissse.New(client, redissse.Config{})
//	hub, err := sse.New(streams, broker, sse.Config{})
//
//	property                                             proven by
//	all that a cap and a broker promise, on Redis and a
//	Cluster                                              TestConformance
//	tabs open and drop streams at random at four
//	instances: never more than three are registered of
//	a member, at any look of any process; the oldest is
//	the one evicted; each that ended is gone             TestCrowd
//	streams whose clients have left make room, and none
//	that lives, also at another process                  TestLiveBeforeDead
//	… and at four hubs, by every command that Redis
//	carries out; victims' sockets are closed within a
//	ping, though messages are lost; nothing is left      TestFleet
//	entries of an instance that died are ghosts when its
//	lease lapses, and not before                         TestLease
//	after kill -9 its places are free then               TestFleet
//	an instance that begins is not taken for dead by one
//	that does not know it yet, also when the clocks of
//	two nodes differ                                     TestYoungInstance, TestSkew
//	the entries of an instance from before a pause beyond
//	its lease do not come back                           TestFenced
//	an instance that ends leaves its places at once      TestResign
//	four tabs at four processes with hubs: the oldest is
//	told and ends, also when the message is lost, and is
//	answered 204 when it comes back                      TestHubs
//	Redis away: streams point to the inbox and end, and
//	open again when it is back                           TestHubOutage
//	after a flush no earlier entry counts, each instance
//	each instance is told, and the cap holds             TestFlush
//	members of any name have keys of one slot            TestNames
//	a sweep takes bounded steps, sees all, and forgets
//	those without a stream                               TestSweep, TestRegistry
//	messages arrive as they were, in order per address   TestMessages, TestOrder
//	a Cluster is asked by shards, an older one plainly   TestSharded, TestOldServer
//	other programs can send and receive evictions        TestDisconnectFormat
//	a connection that is killed, a restart, a server that
//	hangs, a slot that moves: the loss is reported, and
//	later messages are heard                             TestReconnects, TestSilence, TestMovedSlot
//	a connection on which nothing happens is kept        TestQuiet
//	during an outage of Redis every call fails, as
//	infrastructure                                       TestDown
//	a lost script is sent again                          TestLostScripts
//	a Redis user without rights gets a list of them      TestForbidden
//	keys have the names below and expire by themselves   TestKeys
//	a client that repeats calls or waits is refused      TestNew
//
// One script makes each change of a member, by Redis' own clock, with declared keys of
// one slot. The scripts lie in lua/ as they run. They are proven on Redis 7.0. A call for many members is a pipeline, with a script for each of them.
//
// # Keys
//
//	key                                 type    value
//	sse:notification:{member}           ZSET    connection id -> connected at, in ms
//	sse:notification:{member}:tabs      HASH    connection id -> token of its tab
//	sse:notification:{member}:evicted   ZSET    token -> until when it is remembered as
//	                                            evicted, in ms; the newest 32
//	sse:instances                       ZSET    instance -> end of its lease, in ms
//	sse:members                         ZSET    members to sweep, each with 0
//
// The braces are a hash tag, so those of a member's name are written %7B and %7D, and
// its % is %25. The keys of a member expire a minute after Rules.Lifetime from the
// last Open, or eviction; sse:instances a minute after the last lease; sse:members is
// emptied by sweeps. A connected-at is at least a millisecond above the one before it,
// so that the order is known also within a millisecond, and when the clock was set
// back.
//
// # Channels
//
//	channel                        message
//	sse:notification:disconnect    {"memberId": "…", "connectionId": "…"}: an evicted connection
//	sse:events:0 … :15             everything else, by a hash of the address, in the form
//	                               of driver.Message.Append
//
// Every instance listens to all. On a single server that is one connection and plain
// Pub/Sub. On a Cluster it is sharded Pub/Sub (SSUBSCRIBE, Redis 7): one connection per
// channel, to the node that has its slot, so that a message goes through one node and
// not through all. Messages to an address are in order, but for Disconnect on a
// Cluster, which has a channel, and so a node, of its own.
//
// # Failure modes
//
// Redis unreachable, slow, loading, read-only or out of memory: every call fails with
// [fault.Infrastructure], and whether it was carried out is unknown. A retry is safe:
// a registered connection stays registered. The connections that the lost call
// evicted get no message, and find out by Gone. The client of a Cluster retries a
// call when its connection broke: there a message may be heard twice.
//
// Data that Redis loses is lost: by a flush, a restart without data, or a replica
// that takes over without the last second. A stream whose entry was lost is no longer
// registered, which Gone reports, and it ends; until then it runs beside those that
// were registered since. A lost list of leases is whole again when each instance has
// renewed. Until then an entry that was made after the loss may be taken for a ghost,
// and its stream ends and comes again.
//
// Pub/Sub drops messages without listeners. While a connection is broken, and for up
// to twice Config.Silence while a server hangs, messages are lost: Down and the
// Up after it report the loss, and streams read again the events that they may have
// missed. The server cuts off an instance that is so slow that its
// client-output-buffer-limit for Pub/Sub is reached, which is such a loss.
//
// The clock of Redis is set forward by more than a lease, or a Cluster's clocks differ
// by more than Config.Skew: entries of living instances are taken for ghosts, and
// their streams end and come again. Set back: ghosts stay for as much longer.
//
// Set maxmemory-policy noeviction: an eviction takes members' entries away. While two
// masters answer for one slot, on the two sides of a broken network, each has a cap:
// bound that with min-replicas-to-write.
package redissse

// Package rediswatermill is ?mode=watermill of redis:// and rediss://: Watermill's own Redis
// Streams adapter (watermill-redisstream) as a transport. Its members share consumer groups
// with programs that use Watermill alone, so that a fleet moves to package bus one process
// at a time.
//
//	b, err := bus.Open(ctx, "redis://user:password@host/0?mode=watermill", rediswatermill.Scheme(redisbus.Config{}, rediswatermill.Config{}))
//
// Without ?mode= the same schemes open the native transport, package redisbus, which keeps
// the order of keys, trims streams, and handles many keys at once. docs/migrating.md
// describes how to move from one to the other.
//
// A topic is a stream of its name, a group is a consumer group of it, and entries are
// Watermill's. New groups start at the oldest entry. Entries of other writers are delivered
// with the fields that they have; Watermill's own subscriber ends at them.
//
// The URL is that of package redisbus: hosts, user, database, TLS, Sentinels and Cluster
// work. Open refuses prefix, partitions, retention, maxlen and wait.
//
//	property                                                     proven by
//	the conformance suites, Watermill's and bustest's            TestConformance
//	a member shares a group with Watermill's own subscriber,
//	takes over and leaves without loss; its message in flight is
//	taken over at once and not after a minute                    TestSharesAGroupWithWatermill
//	no member takes a message that another one is handling       TestWhatIsInHandIsKept
//	Open does not connect, and names the parameters it refuses   TestURLs
//	entries of other writers do not end a subscription           TestForeignEntries
//
// Durable as that Redis is, groups, replay, broadcast, individual acknowledgements. A
// member has one message in flight (driver.Capabilities.OneAtATime), so parallelism comes from
// more members, and then the order of a key is lost. A single member keeps the stream's order.
//
// # Failure modes
//
// The message in flight of a killed member is taken over after MaxIdle and up to a second,
// by then behind newer messages. Members of the fleet with Watermill's default of a minute
// take messages from each other, also from a handler that is merely slow; members of this
// package tell Redis each third of MaxIdle that they still have their message.
//
// Streams grow until you trim them: this package does not know the groups of other
// programs. Lag counts the unacknowledged messages of groups, for topics that were declared
// or used here.
package rediswatermill

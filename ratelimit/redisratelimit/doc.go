// Package redisratelimit keeps the state of a rate limit in Redis or a Redis
// Cluster, so that all processes share one budget.
//
//	store, err := redisratelimit.New(client, redisratelimit.Config{Name: "artists"})
//
//	property                                             proven by
//	all that a store promises, on Redis and a Cluster    TestConformance
//	the scripts do what package budget does in Go        TestTwins
//	a refusal writes nothing, but where state begins, low
//	is made to yield, or high to leave low its share     TestRefusalsWriteNothing
//	the bound holds in real time                         TestRealTime
//	it holds over a flush, a stop, lost scripts, and a
//	crash: without data, with AOF, an old snapshot       TestFaults
//	it holds over the promotion of a replica             TestPromotion, TestClusterPromotion
//	a server that hangs holds nobody beyond its context  TestHungServer
//	loading, read-only, out of memory: nothing is
//	granted or charged                                   TestLoading, TestReadOnly, TestOutOfMemory
//	a user who may not is told what to allow             TestForbidden
//	a wait outlives a connection that stalls             TestWaitOverABadNetwork
//	buckets stored before there was a share are read     TestStateWithoutAShare
//	a lost script is sent again and charges once         TestLostScriptChargesOnce
//	no key stays for ever, and none goes within 47 h     TestExpiry
//	a client that repeats calls or waits is refused      TestNew
//
// One script decides a whole Ask, by Redis' own clock. The scripts lie in lua/ as they run,
// also with redis-cli --eval, made of parts that they share (scripts/glue). They are proven on Redis 7.0, and their values are packed binary, which miniredis
// does not have.
//
// # Keys
//
//	{name}:global      both: replication id of the server, and tokens with their time;
//	                   what low has of its share
//	{name}:low_cap     tokens of low priority, with their time
//	{name}:day         number and count of the day; only with a Day.Limit
//	{name}:window      strict mode: the same, and the times of the last grants, 8 bytes each
//	{name}:low_window  the same of low priority
//
// They share one slot of a Cluster, and are kept for 47 to 48 h after the last grant.
//
// # Which server it is
//
// Data can be older than the last grant: after a crash that lost the end of the
// AOF, or on a replica that lagged. So the state carries the replication id of the
// server that wrote it, which Redis changes at each start of a master and each
// promotion, and starts empty when that is another one. A slot that moves to
// another node starts empty as well, and so does a master to which its first replica
// comes, or whose last one has been gone for an hour. The id is a line of INFO
// replication, which costs the script half of what INFO server with its run id would.
//
// # Failure modes
//
// Redis unreachable, slow, loading, read-only or out of memory: every call fails
// with [fault.Infrastructure], and whether it was charged is unknown unless Redis
// said no. Nothing is tried again here. The client of a Cluster follows
// redirections, and sends a call again when its connection broke: it may be charged
// twice, and is granted once. It finds a new master when the old one tells, and else
// after its ClusterStateReloadInterval, 60 s by default, for which all is refused.
//
// While two masters answer for one slot, on the two sides of a broken network, each
// gives the budget out: bound that with min-replicas-to-write, or trust one server.
// A step of the server's clock forward fills the buckets once more; see ClockSteps
// of [ratelimit.Limits].
//
// # Changing the limits
//
// Processes with different limits on one name share one state, and each decides by
// its own. While both run they have the highest Burst and the highest Rate together
// (limits-that-change of package ratelimittest), and a little more by what comes
// back: from 450 per second with a burst of 40 to 400 with 91, that may be 550. Lower
// what is to be lower in one deploy, and raise the other in the next. In strict mode
// a lower rate holds at once, and one above that of the state begins a new ring and
// blocks for a window, once (strict-limits-that-change).
//
// Processes of the version before LowShare take the state of this one for missing,
// and begin with empty buckets: HardLimit holds while both run, and the rate is lower.
//
// Strict mode and the buckets have a state each: processes of both modes have two
// budgets. End those of one before the first of the other starts.
package redisratelimit

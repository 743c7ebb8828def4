// Package redisratelimit keeps the state of a rate limit in Redis or a Redis
// Cluster, so that all processes share one budget.
//
//	store, err := redisratelimit.New(client, redisratelimit.Config{Name: "artists"})
//
//	property                                             proven by
//	all guarantees of a store, on Redis and a Cluster    TestConformance
//	the scripts do the same as package budget in Go      TestTwins
//	a refusal writes only if it begins state, makes low
//	yield, or makes high leave low its share             TestRefusalsWriteNothing
//	the bound holds in real time                         TestRealTime
//	it holds over a flush, a stop, lost scripts, and a
//	crash: without data, with AOF, an old snapshot       TestFaults
//	it holds over the promotion of a replica             TestPromotion, TestClusterPromotion
//	a hanging server blocks no call beyond its context   TestHungServer
//	loading, read-only, out of memory: nothing is
//	granted or charged                                   TestLoading, TestReadOnly, TestOutOfMemory
//	a user without rights learns which to grant          TestForbidden
//	a wait outlives a connection that stalls             TestWaitOverABadNetwork
//	buckets stored before there was a share are read     TestStateWithoutAShare
//	a lost script is sent again and charges once         TestLostScriptChargesOnce
//	a permit comes back once, on a Cluster too           TestAReturnIsSentOnce
//	no key stays for ever, and none goes within 47 h     TestExpiry
//	a client that repeats calls or waits is refused      TestNew
//
// One script decides a whole Ask, by Redis' own clock. The scripts lie in lua/ as they run,
// also with redis-cli --eval, made of parts that they share (scripts/glue). They are proven
// on Redis 7.0. Their values are packed binary, which miniredis does not support.
//
// # Keys
//
//	{name}:global      both: replication id of the server, and tokens with their time;
//	                   the content of low's share
//	{name}:low_cap     tokens of low priority, with their time
//	{name}:day         number and count of the day; only with a Day.Limit
//	{name}:window      strict mode: the same, and the times of the last grants, 8 bytes each
//	{name}:low_window  the same of low priority
//
// They share one slot of a Cluster, and are kept for 47 to 48 h after the last grant.
//
// # Identity of the server
//
// Data can be older than the last grant: after a crash that lost the end of the AOF, or on a
// replica that lagged. So the state carries the replication id of the server that wrote it,
// which Redis changes at each start of a master and each promotion. The state starts empty if
// the id differs. It also starts empty when a slot moves to another node, when the first
// replica connects to a master, and when a master's last replica has been gone for an hour. The
// id is a line of INFO replication, which costs the script half as much as INFO server with its
// run id.
//
// # Failure modes
//
// Redis unreachable, slow, loading, read-only or out of memory: every call fails with
// [fault.Infrastructure], and it is unknown whether the call was charged, unless Redis refused
// it. The store does not retry. The client of a Cluster follows redirections, and repeats a
// call when its connection broke: the call may be charged twice, and is granted once. The
// client finds a new master when the old one redirects it, and otherwise after its
// ClusterStateReloadInterval, 60 s by default, during which all calls are refused.
//
// While two masters answer for one slot, on the two sides of a network partition, each of them
// grants the whole budget: bound that time with min-replicas-to-write, or rely on one server. A
// step of the server's clock forward fills the buckets once more; see ClockSteps of
// [ratelimit.Limits].
//
// # Changing the limits
//
// Processes with different limits on one name share one state, and each decides by its own
// limits. While both run, they have the highest Burst and the highest Rate together
// (limits-that-change of package ratelimittest), and slightly more because of returned permits:
// from 450 per second with a burst of 40 to 400 with 91, this may be 550. Lower the limits that
// decrease in one deploy, and raise the others in the next. In strict mode a lower rate takes
// effect at once; a rate above that of the state begins a new ring and blocks for a window,
// once (strict-limits-that-change).
//
// Processes of the version before LowShare treat the state of this one as missing, and begin
// with empty buckets: HardLimit holds while both run, and the rate is lower.
//
// Strict mode and the buckets have separate states: processes of both modes have two budgets.
// Stop the processes of one mode before you start the first of the other.
package redisratelimit

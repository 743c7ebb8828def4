// Package redisratelimit keeps the state of a rate limit in Redis or a Redis
// Cluster, so that all processes share one budget.
//
//	store, err := redisratelimit.New(client, redisratelimit.Config{Name: "artists"})
//
//	property                                             proven by
//	all that a store promises, on Redis and a Cluster    TestConformance
//	the scripts do what package budget does in Go        TestTwins
//	the bound holds in real time                         TestRealTime
//	it holds over a flush, a crash with and without
//	AOF, and the promotion of a replica that lags        TestFaults
//	a restarted server gets the scripts again            TestFaults
//	a server that hangs holds nobody beyond its context  TestHungServer
//	read-only and forbidden are told                     TestReadOnly, TestForbidden
//
// One script decides a whole Ask; a refusal writes nothing. The clock is Redis'
// own. The scripts are the files in lua/; they need Redis 6 or newer, and their
// values are packed binary, which miniredis does not have.
//
// # Keys
//
//	{name}:global      both: replication id of the server, and tokens with their time
//	{name}:low_cap     tokens of low priority, with their time
//	{name}:day         number and count of the day; only with a Day.Limit
//	{name}:window      strict mode: the times of the last grants, 8 bytes each
//	{name}:low_window  the same of low priority
//
// They share one slot of a Cluster, and are kept for 48 h after their last use.
//
// # Which server it is
//
// Data can be older than the last grant: after a crash that lost the end of the
// AOF, or on a replica that lagged. So the state carries the replication id of the
// server that wrote it, which Redis changes at each start of a master and each
// promotion, and starts empty when that is another one. A slot that moves to
// another node starts empty as well. The id is a line of INFO replication, which
// costs the script half of what INFO server with its run id would.
//
// # Failure modes
//
// Redis unreachable, slow, loading, read-only or out of memory: every call fails
// with [fault.Infrastructure], and whether it was charged is unknown. Nothing is
// tried again here; give the client MaxRetries -1, or go-redis tries again and may
// charge twice. Without ContextTimeoutEnabled a server that hangs holds a call for
// the client's ReadTimeout, whatever its context says.
//
// While two masters answer for one slot, on the two sides of a broken network, each
// gives the budget out: bound that with min-replicas-to-write, or trust one server.
// A step of the server's clock forward fills the buckets once more; see ClockSteps
// of [ratelimit.Limits].
//
// Processes with different limits on one name share one state, and each decides by
// its own limits. In strict mode a rate above that of the state begins a new ring,
// and blocks for a window, once.
package redisratelimit

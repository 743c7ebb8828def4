// Package rediscoalesce keeps the locks and versions of package coalesce in
// Redis and Redis Cluster.
//
//	store, err := rediscoalesce.New(client, rediscoalesce.Config{})
//	…
//	coalescer, err := coalesce.New(store, coalesce.Config{})
//
//	key              holds                                      TTL
//	upd:{id}:lock    PRIORITY:version of the current run        30 s high, 60 s low
//	upd:{id}:ver     the newest version                         45 min
//	upd:{id}:again   PRIORITY:version, one more run after the   the lock's and a second
//	                 one of this version
//
// The braces are a hash tag, so the three keys of an id are in one slot. In an id, } is written
// %7D and % is written %25, so that no id ends the tag or collides with another.
//
//	property                                              proven by
//	the table of package coalesce, in one script          TestConformance, TestLinearizable
//	the keys, their values and TTLs                       TestKeys
//	one slot for every id                                 TestSlots
//	versions grow, also when the counter is lost or was
//	ahead of the clock                                    TestCounters, TestVersionsOverInstances
//	without Redis: refused in bounded time                TestRedisDown, TestClusterDown
//	a restarted server gets the scripts again             TestScriptsAreLoadedAgain
//	a client that repeats calls or waits is refused       TestNewChecks
//
// Each call is one script (or one GET) and one round trip. Redis' own clock decides. The
// scripts are the files in lua/. They are proven on Redis 7.0 and need at least Redis 5, which
// replicates the effects of a script and not the script.
//
// # Failure modes
//
// A request whose answer is lost may have taken the lock, which then stands until its TTL. A
// client that repeated the request would find its own lock and mistake it for another's, so New
// refuses a client with retries. A Cluster client follows redirections and repeats a call when
// its connection broke; the outcome is the same: AlreadyProcessing, and the next refresh after
// the TTL. A client that reads from replicas may see an older current version, and do obsolete
// work. A lock in a key of another type is a permanent error; text that is not a ticket counts
// as no lock.
package rediscoalesce

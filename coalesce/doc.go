// Package coalesce lets one of a thousand requests for the refresh of a key do it. The others
// learn that the key is being refreshed.
//
//	coalescer, err := coalesce.New(store, coalesce.Config{})
//	…
//	d, err := coalescer.Do(ctx, "artist-7", coalesce.High, func(ctx context.Context, version int64) error {
//		return publish(ctx, "artist-7", version) // an event with this sequence
//	})
//
// A store (package rediscoalesce, or memcoalesce in one process) keeps a lock and a version per
// key, and decides in one atomic step:
//
//	state      incoming   outcome
//	no lock    any        Published: a new version, and the lock for 30 s (high) or 60 s (low)
//	low lock   high       Upgraded: a new version, the lock becomes high, the low event obsolete
//	otherwise             AlreadyProcessing, with the holder's ticket
//
//	property                                              proven by
//	a thousand requests of ten instances, one publish     TestHerd
//	ten instances, one key: one publish, each time        TestTenInstancesOneKey
//	high takes over at once; low is skipped               TestPriorityInversion
//	versions only grow, over instances, expiry, loss of
//	the counter and FLUSHALL; each is used once           TestVersionsOverInstances, versions-grow, lost-state
//	exactly one of many releases succeeds, and none
//	deletes another's lock                                TestConcurrentRelease, release-compares
//	concurrent calls are linearizable; a lock's expiry
//	may come at any moment                                TestLinearizable
//	a publish that fails frees the key at once            TestFailedPublishReleases
//	one more run, once, for all requests that ask         TestAgain, again-once, concurrent-done
//	callers share only calls that began after theirs      TestSharing, TestModelRefuses
//	without Redis: refused in bounded time, then at once  TestRedisDown, TestTimeout, TestBreaker
//
// Names in lower case are cases of package coalescetest, which every store passes. The
// scenarios are tests of package rediscoalesce, on Redis and on a Redis Cluster.
//
// # A worker
//
// The event carries key, priority and version. The worker skips an obsolete event: a
// bus.Consumer does so with [Coalescer.Sequence] as its Current, any other worker calls
// [Coalescer.Obsolete]. If the current version is unknown, do the work. After the work and the
// write, the worker calls [Coalescer.Done]; for an event that it dead-letters, it calls
// [Coalescer.Release].
//
// The database write must itself be conditional on the version (UPDATE … WHERE version < $1):
// an event can become obsolete during the work, and a run that outlived its lock may be slower
// than the next one. See the example of [Coalescer.Obsolete]. Versions fit a signed 64-bit
// column; they are times in µs.
//
// # One more run
//
// A request for a key that is being refreshed may know of a change that the current run has
// missed. By [Coalescer.Again] it leaves a mark on the lock. Done then passes the lock to a new
// version in the same step, and its caller publishes that version. However many requests ask,
// there is one more run, with the highest of their priorities. The mark moves with an upgrade. It
// ends with the lock: by a release, by expiry, and with lost state, after which the next request
// finds the key free. The mark does not show whether the run had really begun by then; one run
// too many does no harm.
//
// # TTLs
//
// A lock's TTL bounds how long a crashed worker keeps a key from being refreshed. It begins
// with the request and includes the wait in the queue. So under a backlog a second run may be
// published, with a newer version that makes the first obsolete: that is a publish too many,
// never a lost refresh. Work that is known to take long extends its lock ([Coalescer.Extend]).
// A version is kept for 45 min, longer than the 30 min that a low event should wait at most. An
// event that waited longer than the version is handled, and the conditional write decides.
//
// # Versions and clocks
//
// A new version is the larger of the counter plus one and the server's time in µs, below 2^53
// until the year 2255. While the counter exists, versions grow regardless of the clock. After
// the counter was lost (expired, flushed, a failover to a replica without it), they grow if the
// server's clock is then later than it was at the key's last version. This assumes that Redis'
// clocks are slewed and not stepped back, and that a replica's clock is not behind its
// primary's by more than a failover takes. A larger step back makes versions regress until the
// clock has caught up; meanwhile the conditional write refuses their results.
//
// # Failure modes
//
// Redis is down, slow beyond Config.Timeout, loading, read-only or full: the call fails with
// [ErrUnavailable], of the class infrastructure, and the caller must not publish. It is unknown
// whether the step was executed. If a lost request took the lock, no run is published until the
// TTL; if a lost Done was executed, the key is free, or one more run is lost until the TTL. A
// circuit breaker refuses at once while half of the calls fail. A cancelled call is not
// counted.
//
// A failed publish frees the key, and requests that arrived meanwhile get no refresh until the
// next request. After a failed publish of an upgrade this includes the low run: its event is
// obsolete already. If a process crashes between the decision and the publish, the lock stands
// until its TTL.
//
// A Redis that loses its state (a flush, an eviction, a failover before replication) frees
// every key: a second run may begin beside the current one, with a higher version. Configure
// maxmemory-policy noeviction or a volatile policy.
package coalesce

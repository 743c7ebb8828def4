// Package coalesce lets one of a thousand requests for the refresh of a key do
// it. The others are told that somebody is at it.
//
//	coalescer, err := coalesce.New(store, coalesce.Config{})
//	…
//	d, err := coalescer.Do(ctx, "artist-7", coalesce.High, func(ctx context.Context, version int64) error {
//		return publish(ctx, "artist-7", version) // an event with this sequence
//	})
//
// A store (package rediscoalesce, or memcoalesce in one process) keeps a lock and
// a version per key, and decides in one atomic step:
//
//	state      incoming   outcome
//	no lock    any        Published: a new version, and the lock for 30 s (high) or 60 s (low)
//	low lock   high       Upgraded: a new version, the lock becomes high, the low event obsolete
//	otherwise             AlreadyProcessing, by whom
//
//	property                                              proven by
//	a thousand requests of ten instances, one publish     TestHerd
//	ten instances, one key: one publish, each time        TestTenInstancesOneKey
//	high takes over at once; low is skipped               TestPriorityInversion
//	versions only grow, over instances, expiry, loss of
//	the counter and FLUSHALL; none comes twice            TestVersionsOverInstances, versions-grow, lost-state
//	exactly one of many releases succeeds, and nobody
//	deletes another's lock                                TestConcurrentRelease, release-compares
//	concurrent calls are linearizable; a lock's expiry
//	may come at any moment                                TestLinearizable
//	a publish that fails frees the key at once            TestFailedPublishReleases
//	one more run, once, for all who ask                   TestAgain, again-once, concurrent-done
//	callers share calls without an answer of the past     TestSharing, TestModelRefuses
//	without Redis: refused in bounded time, then at once  TestRedisDown, TestTimeout, TestBreaker
//
// Names in lower case are cases of package coalescetest, which every store
// passes. The scenarios are tests of package rediscoalesce, on Redis and on a
// Redis Cluster.
//
// # A worker
//
// The event carries key, priority and version. The worker skips it when it is
// obsolete: a bus.Consumer does so with [Coalescer.Sequence] as its Current,
// anybody else asks [Coalescer.Obsolete]. An unknown current version means do the
// work. Then it works, writes, and calls [Coalescer.Done]; for an event that it
// gives up, it calls [Coalescer.Release].
//
// The database write must itself be conditional on the version (UPDATE … WHERE
// version < $1): an event can turn obsolete while it is worked on, and a run that
// outlived its lock may be slower than the next one. See the example of
// [Coalescer.Obsolete]. Versions fit a signed 64-bit column; they are times in µs.
//
// # One more run
//
// A request that finds somebody at it may know of a change that the run under way
// has missed. With [Again] it leaves a mark at the lock. Done then passes the lock
// on to a new version in the same step, and its caller publishes that. However
// many ask there is one more run, with the highest priority among theirs. The mark
// moves with an upgrade. It goes with the lock: by a release, by expiry, and with
// lost state, after which the next request finds the key free. Whether the run
// had really begun when it was marked is not known; one too many does no harm.
//
// # TTLs
//
// A lock's TTL bounds how long a crashed worker keeps a key from being refreshed.
// It begins with the request and includes the wait in the queue, so under a
// backlog a second run may be published, with a newer version, which makes the
// first obsolete: that is a publish too many, never a refresh lost. Work that is
// known to last extends its lock ([Coalescer.Extend]). A version is remembered for
// 45 min, above the 30 min that a low event is meant to wait at most; an event
// that waited longer than the version is done, and the conditional write decides.
//
// # Versions and clocks
//
// A new version is the larger of the counter plus one and the server's time in
// µs, below 2^53 until the year 2255. While the counter is kept versions grow
// whatever the clock does. When it was lost (expired, flushed, a failover to a
// replica that had not got it) they grow if the server's clock then reads later
// than it did at the key's last version: assumed is that Redis' clocks are slewed
// and not stepped back, and that a replica's clock is not behind its primary's by
// more than a failover takes. A step back by more than that makes versions regress
// until the clock has caught up, and the conditional write refuses their results
// meanwhile.
//
// # Failure modes
//
// Redis is away, slow beyond Config.Timeout, loading, read-only or full: the call
// fails with [ErrUnavailable], of the class infrastructure, and nothing may be
// published. Whether the step was carried out is unknown: if a lost request took
// the lock, nobody publishes for it until the TTL; if a lost Done did, the key is
// free or one more run is lost until the TTL. A circuit breaker refuses at once
// while half of the calls fail. A caller that cancels is not counted.
//
// A failed publish frees the key, and those who asked meanwhile get nothing until
// the next request. After a failed publish of an upgrade that includes the low
// run: its event is obsolete already. A process that dies between the decision and
// the publish leaves the lock until its TTL.
//
// A Redis that loses its state (a flush, an eviction, a failover before
// replication) frees every key: a second run may begin beside one under way, with
// a higher version. Configure maxmemory-policy noeviction or a volatile one.
package coalesce

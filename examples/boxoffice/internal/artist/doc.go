// Package artist mirrors the artists of an external API that allows 500 calls a
// second and bans whoever makes one more. Readers get what is in the mirror at
// once; the mirror catches up behind their backs.
//
//	read ─▶ Mirror ─▶ database, archive            answers at once
//	          │ too old, or not there
//	          ▼
//	       a bounded queue ─▶ coalescer ─▶ update-priority-high ─┐
//	Prefetch ───────────────▶ coalescer ─▶ update-priority-low ──┤
//	                                                             ▼
//	   dead letters in update-dlq ◀── Worker: budget ─▶ API ─▶ extract ─▶ hash ─▶ one write per batch
//
//	property                                                       proven by
//	a new artist turns from UPDATING to FRESH by itself            TestUpdatingBecomesFresh, TestMirrorOfUpstream
//	unchanged data moves the time of the check and nothing else    TestUnchangedData
//	an older version never overwrites a newer one                  TestOlderVersionNeverOverwrites
//	a thousand reads publish once, over processes                  TestHerdPublishesOnce
//	reads never wait for the broker                                TestReadsWhileBrokerSlow
//	reads go on without Redis and promise nothing                  TestReadsWhileRedisDown
//	a failed publish is asked for again                            TestFailedPublishIsAskedAgain
//	high overtakes low, and low is skipped                         TestPriorityInversion
//	a poison artist is a dead letter and hurts nobody else         TestPoisonArtist, TestMixedBatch
//	one that the API does not have is NOT_FOUND, and may come      TestMissingArtist
//	a slow database: the breaker opens, nothing is acknowledged    TestSlowDatabase, TestWriteGivesUp,
//	                                                               TestLooksSayNothingOfWrites
//	no budget: the consumer pauses, nothing becomes a dead letter  TestBudgetAway, TestBudgetOfNoStore
//	a 429 stops all calls for as long as it says                   TestFetchRespectsRetryAfter
//	each answer is judged by what it says of the next attempt      TestFetchJudges, TestFetchTimeout
//	a document is checked whole and held in part                   TestExtractRefuses, TestScanAgreesWithJSON, FuzzExtract,
//	                                                               TestExtractHoldsOnlyWhatItKeeps
//	prefetch goes by tier, pace and lag, in one process            TestTiers, TestPrefetchPace, TestPrefetchLease, TestPrefetchAsks
//	archiving loses nothing, whenever it is interrupted            TestArchive, TestArchiveSurvivesCrashes, TestArchiveYieldsToReaders,
//	                                                               TestArchiveIsDue, TestArchiveCleansUp
//
// The tests run on SQLite, PostgreSQL and MariaDB.
//
// # Freshness
//
// FRESH goes by when the API was last asked, not by when the artist last changed:
// one that never changes would otherwise be refreshed for ever. UPDATING needs a
// request that was accepted, by this process or, noted in the database, by
// another. An artist whose refresh has just failed for good is not asked for at
// each read (WorkerConfig.PoisonFor); without data it is NOT_FOUND meanwhile.
//
// A 404 is both: a mark, from which readers learn at once that there is no such
// artist, and a dead letter as for any other 4xx, from which an operator learns
// that somebody asked for it. The mark keeps the second from repeating: reads ask
// again after an hour (Config.MissingFor), so a typing error in a link costs one
// call an hour however many follow it. What was known of the artist stays in the
// database and comes back if it does.
//
// # Workers
//
// The consumers are batches (bus.BatchConsumer), because a write costs little more
// for a hundred artists than for one, and a pair (bus.Pair), because low has to
// give way while high is behind. What is in a batch is fetched side by side; the
// limiter decides who goes first. Batch times batches bounds the calls under way.
// Failures are named artist by artist (bus.BatchError), so a batch is as good as
// its best, and retries are the bus's: 5xx three times, anything permanent not at
// all. Requests that a newer one overtook are skipped by the coalescer's version
// (bus.Current); of those that slip through, the version in the row decides.
//
// The database is asked before the API, behind the same breaker as the write, so
// that an outage spends a probe's worth of budget and not all of it.
//
// A version is written with every check, also of unchanged data: without it, a
// late answer to an older request could still replace what a newer one confirmed.
//
// # Failure modes
//
//   - The request queue of reads is in memory. A process that ends forgets it, a
//     full one drops: the next read asks again. Both are counted.
//   - Redis goes away between two reads: the first may say that a refresh is
//     queued, until the refusal of its request is known.
//   - A crash between the write and the acknowledgement repeats a fetch. Between
//     the write and the end of the run at the coalescer the lock stands until it
//     expires (30 s high, 60 s low), and no refresh begins before.
//   - A process that dies after it took artists for prefetch leaves them for half
//     an hour (PrefetchConfig.AskedFor), if nobody reads them.
//   - On SQLite a batch waits for the writer with everybody else. What the
//     database takes longer for than WriteTimeout is repeated, not lost.
//   - Who was read is noted to within five minutes, and not at all for the last
//     seconds of a process that is killed.
//   - An extract that is damaged in the database stays unreadable until the
//     artist changes; one that is damaged or gone in the archive is fetched anew.
package artist

// Package artist mirrors the artists of an external API that allows 500 calls a
// second and bans a client that makes one more. Reads are answered from the mirror at
// once; the mirror catches up in the background.
//
//	read ─▶ Mirror ─▶ database, archive            answers at once
//	          │ too old, or not there
//	          ▼
//	       a bounded queue ─▶ coalescer ─▶ update-priority-high ─┐
//	          │ full, or refused    ▲                            │
//	          ▼                     │                            │
//	       table artist_asks ───────┘ ◀── Refresh                │
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
//	a hundred thousand first reads at once lose no refresh         TestNoFirstReadIsLost
//	UPDATING is said only while a refresh is asked for and waits   TestUpdatingIsTrue, TestFullPromisesNothing
//	a refused request is repeated until it is published            TestUpdatingIsTrue, TestDeferredUntilPublished,
//	                                                               TestFailedPublishIsAskedAgain
//	queued requests outlive the process                            TestQueuedOutlivesProcess
//	a wish to refresh is stored before it is answered              TestRefresh, TestRefreshWhileAsking
//	high overtakes low, and low is skipped                         TestPriorityInversion
//	a poison artist is a dead letter and affects no other          TestPoisonArtist, TestMixedBatch
//	an artist unknown to the API is NOT_FOUND, and may appear      TestMissingArtist
//	a slow database: the breaker opens, nothing is acknowledged    TestSlowDatabase, TestWriteGivesUp,
//	                                                               TestLooksSayNothingOfWrites
//	no budget: the consumer pauses, nothing becomes a dead letter  TestBudgetAway, TestBudgetOfNoStore
//	a 429 stops all calls for its Retry-After                      TestFetchRespectsRetryAfter, TestRetryAfterEndsWaitingCalls
//	each answer decides on the next attempt                        TestFetchJudges, TestFetchTimeout
//	a document is checked whole and held in part                   TestExtractRefuses, TestScanAgreesWithJSON, FuzzExtract,
//	                                                               TestExtractHoldsOnlyWhatItKeeps
//	prefetch depends on tier, pace and lag, in one process         TestTiers, TestPrefetchPace, TestPrefetchLease, TestPrefetchAsks
//	an archived artist is checked, and stays there unchanged       TestColdStaysArchived
//	each change is kept for 90 days, and can be read               TestHistory, TestHistoryExpires, TestHistoryPageIsBounded
//	archiving loses nothing, whenever it is interrupted            TestArchive, TestArchiveSurvivesCrashes, TestArchiveYieldsToReaders,
//	                                                               TestArchiveIsDue, TestArchiveCleansUp, TestArchiveInBucket
//
// The tests run on SQLite, PostgreSQL and MariaDB.
//
// # Freshness
//
// FRESH depends on the time when the API was last asked, not on the artist's last
// change: an artist that never changes would otherwise be refreshed for ever.
// UPDATING needs a refresh that was asked for, or that waits in memory or in the
// database to be asked for; a read that has no place for its wish says NOT_FOUND. An
// artist whose refresh has just failed for good is not asked for at each read
// for ten minutes; without data it is NOT_FOUND then.
//
// A 404 is both: a mark, from which readers learn at once that there is no such
// artist, and a dead letter as for any other 4xx, from which an operator learns of
// the request. The mark limits the dead letters: reads ask again after an hour,
// so a typing error in a link costs one call an hour, for any
// number of visitors. The artist's earlier data stays in the database and is shown
// again if the artist returns.
//
// # Asking
//
// A read offers its wish to a bounded queue, from which askers ask coalescer and
// broker. A wish that is refused, or has no place in the queue, goes through a
// bounded list into the table artist_asks, 500 rows in a transaction. Only when the
// list is full too does a read wait, for the database to take some of it. One process
// at a time asks for the rows of the table. A row is deleted when this process has
// published its request, or when the artist was checked, or has failed for good,
// since. The coalescer's word that a request is in flight is not enough: a request
// whose answer was lost may have left its lock without a publisher. Such a row is
// asked again when the lock has expired. While the last question was refused, reads
// promise nothing, and their wishes are kept all the same.
//
// The table has a row for each artist that was wanted while nothing could be asked;
// at most as many as the artists that were read.
//
// # History
//
// Each snapshot is written to artist_history when it is found to differ from the one
// before, in the same form as the extract: some 6 KB for 17. The daily job deletes
// rows after 90 days, and keeps the newest 2,400 of an artist: as many as hourly
// changes make in a hundred days. An artist that never changes has one row for 90
// days. At worst a hot artist that changes every hour costs 14 MB.
//
// # Workers
//
// The consumers are batches (bus.BatchConsumer), because a write costs little more
// for a hundred artists than for one, and a pair (bus.Pair), because low has to give
// way while high is behind. The artists of a batch are fetched concurrently; the
// limiter decides their order. Batch times batches bounds the calls in flight.
// Failures are named artist by artist (bus.BatchError), so one failing artist does
// not fail its batch, and retries are the bus's: 5xx three times, permanent failures
// not at all. Requests that a newer one overtook are skipped by the coalescer's
// version (bus.Current); for those that slip through, the version in the row decides.
//
// The database is asked before the API, behind the same breaker as the write, so
// that an outage spends a probe's worth of budget and not all of it.
//
// A version is written with every check, also of unchanged data: without it, a late
// answer to an older request could still replace the data of a newer one.
//
// # Failure modes
//
//   - A process that is killed forgets which reads wait in memory, 11,000 at most:
//     the next read of each asks again. One that is stopped stores them.
//   - A database that takes no writes for longer than ReadTimeout while memory is
//     full: reads then answer that their refresh is not queued. They are
//     counted as dropped.
//   - An outage of Redis between two reads: the first may say that a refresh is
//     queued, until the refusal of its request is known.
//   - A crash between the write and the acknowledgement repeats a fetch. Between
//     the write and the end of the run at the coalescer the lock stands until it
//     expires (30 s high, 60 s low), and no refresh begins before.
//   - A lock that a killed process has left keeps its artist from being asked for
//     until it expires; reads say UPDATING meanwhile.
//   - A process that dies after it took artists for prefetch leaves them for half
//     an hour (PrefetchConfig.AskedFor), unless they are read.
//   - On SQLite a batch waits for the writer like all other writes. A write that takes
//     longer than WriteTimeout is repeated, not lost.
//   - Reads are noted to within five minutes, and not at all for the last seconds of
//     a process that is killed.
//   - An extract that is damaged in the database stays unreadable until the
//     artist changes; one that is damaged or gone in the archive is fetched again.
package artist

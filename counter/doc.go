// Package counter keeps counts of what changes often (the comments of a post)
// without a hot row for every change: deltas go to a [Store] at once, and every few
// seconds a [Flusher] brings the totals in the database up to date.
//
//	comments, err := counter.New("comment", store, counter.Config{Totals: applier})
//	flusher, err := counter.NewFlusher(comments, applier, counter.FlusherConfig{Source: log})
//	go flusher.Run(ctx)
//	…
//	err = sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
//		… INSERT INTO comments …
//		return log.Append(ctx, tx, counter.Change{Key: postID, N: 1})
//	})
//	…
//	err = comments.Add(ctx, postID, 1) // INCRBY; its failure fails nobody's comment
//	…
//	counts, err := comments.Counts(ctx, postID) // totals, and what is pending
//
// # Two ways to a total
//
// With a Source, and this is the way to choose where counts must be right, change
// rows are the truth: what creates or soft-deletes a row appends one to the Source
// in its transaction. A round moves the store's deltas aside, applies the change
// rows that follow the last position (processed_to), and drops the deltas that it
// moved. A writer adds after its commit, so the rows of everything that was moved had
// been committed before the reading began: they are in the totals. Every round is a
// reconcile, and there is no other: it reads what changed since the last one and
// never counts rows that it has counted before.
//
// Without a Source the deltas themselves are applied, each batch once. That is
// exact as long as the store neither loses nor repeats anything, and needs no rows:
// good for views.
//
// A reconcile every few minutes beside a flush of deltas was weighed and left: for a
// change that is between its commit and its addition while the recount runs, no
// store can tell whether its delta is still to come. The total is then off until the
// next recount, and exact only if nothing happened meanwhile. Totals made of rows
// alone are exact at every position, whatever is in flight, and the store is what it
// is good at: a fast overlay of the seconds since. The price is one small row per
// change in the database, next to the row that it counts.
//
//	property                                                    proven by
//	a flusher that dies at any call loses and doubles nothing   TestCrashAtEveryCall, sqlcounter's TestKilledFlushers
//	a writer that dies before its addition, or repeats it, and
//	a lost store are right after the next round                 TestRowsAreTheTruth, sqlcounter's TestEverythingBreaks
//	each change row is read once; a round reads the interval
//	since the last one                                          TestRowsAreTheTruth, sqlcounter's TestEverythingBreaks
//	a round says which deltas it drops                          TestRowsAreTheTruth
//	… and drops none that came while it read                    TestLaterDeltasStay
//	one flusher works, the others stand by                      TestOneAtATime
//	a flusher that lost its lease unawares changes nothing      TestStaleFlusher
//	a batch is applied once without any lease                   countertest Concurrent
//	late commits are not skipped                                countertest LateCommit
//	a store that is away costs a request 250 ms once a second   TestRest
//	… and keeps no change row from the totals                   TestStoreAway
//	a backlog is worked off without a pause, in bounded rounds  TestBacklog
//	… and what comes during a round is for the next one        TestRoundsEnd
//	a call that hangs is given up after 30 s                    TestCallThatHangs
//	what is old goes, however much it is                        TestOldGoes, TestMuchThatIsOldGoes
//
// # Exactly once
//
// Deltas are moved aside under a batch id by one atomic call of the store. The
// transaction that adds a batch to the totals notes its id (count_batches), and
// refuses an id that is noted; then the batch is forgotten. Whoever finds a batch
// aside applies it again, which does nothing when it was applied. A batch of change
// rows moves the position from where it was read, in the same transaction, and is
// refused when it is elsewhere. The lease only spares work: its token is checked in
// that transaction as well.
//
// # Starting with rows that are there
//
// For each post append one change with the count of its rows, in one transaction
// that keeps writers out; what is counted from then on follows. A Source is for
// totals that were made of it from the beginning: to give one to a counter that
// applied deltas before, use another counter name.
//
// # Failure modes
//
// Store away: Add fails, at once for a second after each failure; readers see
// totals, which with a Source are as late as the round, and without one stand still.
// Database away: deltas wait in the store, change rows cannot be written by anybody.
// Between two rounds, readers can see a change twice (added after its row was
// applied) or not yet; totals never do. A store that loses its data loses, without a
// Source, what was pending. The lease of a flusher that was killed keeps others away
// for FlusherConfig.Lease (30 s), and counts are as late. A batch that lies aside for longer
// than FlusherConfig.Keep after it was applied is applied again. Change rows must be
// appended in the transaction that they tell of, and the totals be changed by nobody
// else.
package counter

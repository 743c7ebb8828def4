// Package counter keeps frequently changing counts (the comments of a post) without a hot row
// for every change: deltas go to a store at once, and every few seconds a flusher, [Counter.Run],
// updates the totals in the database. Package driver is for authors of stores.
//
//	comments, err := counter.New("comment", store, counter.Config{Applier: applier, Source: log})
//	go comments.Run(ctx)
//	…
//	err = sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
//		… INSERT INTO comments …
//		return log.Append(ctx, tx, counter.Change{Key: postID, N: 1})
//	})
//	…
//	err = comments.Add(ctx, postID, 1) // INCRBY; do not fail the comment for its error
//	…
//	counts, err := comments.Counts(ctx, postID) // totals plus pending deltas
//
// # Two ways to a total
//
// Use a Source if counts must be right. The change rows are then the source of truth: the
// transaction that creates or soft-deletes a row appends a change row to the Source. A round
// moves the store's deltas aside, applies the change rows after the last position
// (processed_to), and drops the moved deltas. A writer adds after its commit, so the rows of
// all moved deltas were committed before the round read the rows: they are in the totals. Every
// round is a reconcile, and there is no other: it reads the changes since the last round and
// never counts a row twice.
//
// Without a Source the deltas themselves are applied, each batch once. This is exact as long as
// the store neither loses nor repeats deltas, and needs no rows: good for views.
//
// A flush of deltas with a recount every few minutes was considered and rejected: for a change
// between its commit and its addition during the recount, no store knows whether its delta is
// still to come. The total is then off until the next recount, and exact only if nothing
// changes during the recount. Totals made of rows alone are exact at every position, regardless of
// changes in flight, and the store does only its strength: a fast overlay of the last seconds.
// The price is one small row per change in the database, next to the counted row.
//
//	property                                                    proven by
//	a flusher killed at any call loses and doubles nothing      TestCrashAtEveryCall, sqlcounter's TestKilledFlushers
//	after a writer that crashed before its addition or repeated
//	it, and after a lost store, the next round is right         TestRowsAreTheTruth, sqlcounter's TestEverythingBreaks
//	each change row is read once; a round reads the interval
//	since the last one                                          TestRowsAreTheTruth, sqlcounter's TestEverythingBreaks
//	a round reports the deltas that it drops                    TestRowsAreTheTruth
//	… and keeps those that arrive while it reads                TestLaterDeltasStay
//	one flusher works, the others stand by                      TestOneAtATime
//	a flusher with a lost lease changes nothing                 TestStaleFlusher
//	a batch is applied once without any lease                   countertest Concurrent
//	late commits are not skipped                                countertest LateCommit
//	an unreachable store costs a request 250 ms once a second   TestRest
//	… and keeps no change row from the totals                   TestStoreAway
//	a backlog is flushed without a pause, in bounded rounds     TestBacklog
//	… and deltas that arrive in a round are for the next one    TestRoundsEnd
//	a call that hangs is cancelled after 30 s                   TestCallThatHangs
//	old batches and rows are deleted, however many there are    TestOldGoes, TestMuchThatIsOldGoes
//
// # Exactly once
//
// One atomic call of the store moves deltas aside under a batch id. The transaction that adds a
// batch to the totals records its id (count_batches), and refuses a recorded id; then the batch
// is forgotten. A flusher that finds a batch aside applies it again, which has no effect if it
// was applied already. A batch of change rows moves the position from where it was read, in the
// same transaction, and is refused if the position has changed. The lease only saves work; its
// token is checked in that transaction as well.
//
// # Starting with existing rows
//
// For each post append one change with the count of its rows, in one transaction that locks
// writers out; later changes follow it. A Source is for totals that were made from it from the
// beginning: to add a Source to a counter that applied deltas before, use another counter name.
//
// # Failure modes
//
// Store down: Add fails, at once for a second after each failure. Readers see the totals, which
// lag by a round with a Source, and do not change without one. Database down: deltas wait in
// the store; change rows cannot be written. Between two rounds, readers can see a change twice
// (added after its row was applied) or not yet; totals never do. Without a Source, a store that
// loses its data loses the pending deltas. The lease of a killed flusher blocks others for
// Config.Lease (30 s), and counts lag by that time. A batch that stays aside for longer
// than Config.Keep after it was applied is applied again. Append change rows in the
// transaction of the counted rows, and let only the flusher change the totals.
package counter

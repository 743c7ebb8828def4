// Package pglog is the append-only log of package log on PostgreSQL 13+.
//
// Ids are handed out before transactions commit, so the order of ids is not the
// order of commits: a reader that asks for "id greater than the last one" skips
// whatever commits late. Reading only below the oldest running transaction
// skips nothing, but it stalls behind any open write transaction of the server,
// and reorders a key, because a transaction gets its number at its first write,
// before it takes the key's row lock.
//
// pglog reads windows between two snapshots instead. A cursor remembers the
// snapshot it has covered. A read takes the present snapshot; the window is the
// rows whose transaction is visible now and was not visible then. It is drained
// by id, then the present snapshot becomes the covered one.
//
// A read passes over what it returns, whatever is retained. Rows of transactions that
// began after the covered snapshot lie above its floor, the highest id that was handed
// out by then, because a transaction gets its xid before it takes an id: the column's
// default sees to that. Rows of transactions that were running then are found by their
// xids. Both are merged by id. What has to be passed over all the same, such as rows of
// a writer that is still at it, is so many ids at a time.
//
//	property                                          why
//	no committed row is skipped                       every transaction becomes visible between exactly two
//	                                                  neighbouring snapshots, so its rows lie in exactly one window
//	no row is read twice                              same
//	rows of a key are read in commit order            a transaction is visible to snapshots before it frees its row
//	                                                  locks, so of two writers of a key the second is never in an
//	                                                  earlier window; in the same window ids order them (identity
//	                                                  with CACHE 1, taken after the lock)
//	an open transaction delays nobody                 it stays in the in-progress list of the covered snapshot and
//	                                                  its rows join the window after its commit
//
// The order of a key holds for writers that append after they have locked the
// key's row (or read its version under a check): no reader can restore an order
// that the writers never had.
//
// Progress is appended: a cursor's newest row in the table _progress is what holds,
// taking a lease, moving and giving back each add one, and the primary key makes two
// at once take turns. A row that is updated leaves a dead version each time, which
// every read passes while a session keeps its snapshot (pg_dump, a report): after
// 100,000 moves one took 50 times as long. Old rows are deleted 64 at a time, by
// their keys. For the same reason pruning remembers how far it came: in memory, and
// once a minute in the table _pruned.
//
// Pruning goes in the order of ids and stops at the first row that is young or that
// some cursor has not covered. What committed late, below that place, is found by the
// transactions that were running when the place went past.
//
// Snapshots mean nothing on another database system, so a cursor keeps the
// system identifier and Lease answers log.ErrForeignDatabase after a dump was
// restored elsewhere; Rebase puts the lane right. pg_upgrade changes the identifier
// too, but transaction ids go on: Adopt keeps the cursors as they are, and refuses
// where a stored id may be given out again. A physical restore to a point
// in time keeps the identifier, and the cursor is restored with the rows.
//
// Nor do they outlive a crash unless they were kept: a snapshot may show as done what
// was not on the disk yet (a rollback, a NOTIFY), and the server then gives its
// transaction id to another, whose rows would be taken for read. What was kept is
// behind all that in the WAL. So a lease ends when the server recovers, though no
// statement of its holder failed, and the next holder begins at what was kept. Nor
// does a position of one server say anything on another: a read there fails.
//
// A row whose transaction lies ahead of the server comes from another one, whatever the
// cursors say. No window shows it; Read looks for such rows when it begins and every few
// seconds, and refuses them with log.ErrForeignDatabase until a Rebase.
//
// Roles that append or read need the sequence of ids, which the migration grants to
// PUBLIC. Its ids must not go back beside rows: do not restart it.
//
//	proven by
//	nothing skipped, nothing twice         TestLateCommitIsReadAfterwards, TestCommitDuringDrainJoinsTheNextWindow,
//	                                       TestSavepointsAndRollbacks, TestPreparedTransactionIsReadOnceItCommits
//	commit order of a key                  TestKeyOrderIsCommitOrderNotTransactionOrder, suite Stress, outboxtest.Stress
//	pruning leaves what is unread          TestRowsOfAnOpenWindowAreNotPruned, TestPruneSparesACursorWithoutProgress
//	pruning reads what it deletes          TestPruneReadsWhatItDeletes
//	pruning forgets no late row            TestLateRowsArePruned, TestPruningBeginsAgainOnAnotherServer
//	a move reads its own row only          TestMovesBesideAHeldSnapshot, TestSweepDoesNotWait
//	an old snapshot moves nothing          TestOldSnapshotMovesNothing
//	a move names server, place and row     TestAnotherServerOrPlaceIsRefused
//	moves at once take turns               TestConcurrentStatementsOfOneHolder, TestANewHolderWaitsForTheWork
//	an older schema is carried over        TestMigrationCarriesCursorsOver
//	a deleted cursor starts again          TestADeletedCursorStartsAgain
//	a crash ends positions not kept        TestPositionsEndWithTheServer (package faulttest)
//	a read on another server is refused    TestReadOnAnotherServer
//	another system is refused              TestForeignDatabaseIsRefusedAndRebased
//	… and adopted where its ids go on      TestAdopt
//	rows ahead of the server are refused   TestRowsAheadOfTheServer, TestRowsAheadAreNotReadBetweenLooks
//	statements pass over what they return  TestPlansUseTheIndexes, TestPlansMadeForAnEmptyTable, TestPlansWithOldStatistics,
//	                                       TestBacklogOfAFreshTableGetsStatistics, TestReadPassesOverWhatIsNotYetThere
//	late rows are merged by id             TestLateRowsAmongManyRetained, TestLateRowsOfTheNewestTransaction,
//	                                       TestWindowsAgainstAModel
//	a read that fails keeps its progress   TestFailedReadKeepsItsProgress
//	an xid comes before its ids            TestXidComesBeforeID
//	snapshots stay small                   TestManySubtransactionsAreNotListed
//	a floor is used where it holds         TestPositionsWithoutAFloor, TestSequenceBehindItsRows,
//	                                       TestMigrationCarriesOver
//	wake-ups                               TestNotifyWakesAListener, TestListenReconnects
//	any pool reads the same                TestBothScansAgree
//	what COPY appends is what a statement
//	would have appended                    TestCopy
//
// Everything else that a log owes is in the suite, logtest.
package pglog

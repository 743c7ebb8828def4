// Package pglog is the append-only log of package log on PostgreSQL 13+.
//
// Ids are assigned before transactions commit, so the order of ids is not the order of commits:
// a reader that selects "id greater than the last one" skips late commits. Reading only below
// the oldest running transaction skips no row, but it stalls behind any open write transaction
// of the server, and reorders a key, because a transaction gets its number at its first write,
// before it takes the key's row lock.
//
// pglog reads windows between two snapshots instead. A cursor stores the snapshot it has
// covered. A read takes the present snapshot; the window is the rows whose transaction is
// visible now and was not visible then. The window is drained by id, then the present snapshot
// becomes the covered one.
//
// A read passes over only the rows it returns, for any number of retained rows. Rows of
// transactions that began after the covered snapshot are above its floor, the highest id that
// was assigned by then, because a transaction gets its xid before it takes an id: the column's
// default guarantees that. Rows of transactions that were running then are found by their xids.
// Both are merged by id. Rows that must still be passed over, such as those of a writer that is
// still running, are limited to a number of ids at a time.
//
//	property                                          why
//	no committed row is skipped                       every transaction becomes visible between exactly two
//	                                                  neighbouring snapshots, so its rows lie in exactly one window
//	no row is read twice                              same
//	rows of a key are read in commit order            a transaction is visible to snapshots before it frees its row
//	                                                  locks, so of two writers of a key the second is never in an
//	                                                  earlier window; in the same window ids order them (identity
//	                                                  with CACHE 1, taken after the lock)
//	an open transaction delays no reader              it stays in the in-progress list of the covered snapshot and
//	                                                  its rows join the window after its commit
//
// The order of a key holds for writers that append after they have locked the
// key's row (or read its version under a check): no reader can restore an order
// that the writers never had.
//
// Progress is appended: a cursor's newest row in the table _progress is the valid one. Taking,
// moving and releasing a lease each add one, and the primary key serializes concurrent writes.
// An updated row would leave a dead version each time, which every read passes while a session
// keeps its snapshot (pg_dump, a report): after 100,000 moves one took 50 times as long. Old
// rows are deleted 64 at a time, by their keys. For the same reason pruning stores its progress:
// in memory, and once a minute in the table _pruned.
//
// Pruning proceeds in the order of ids and stops at the first row that is young or that some
// cursor has not covered. Late commits below that place are found by the transactions that were
// running when pruning passed the place.
//
// Snapshots have no meaning on another database system, so a cursor stores the system
// identifier, and Lease returns log.ErrForeignDatabase after a dump was restored elsewhere;
// Rebase repairs the lane. pg_upgrade changes the identifier too, but transaction ids continue:
// Adopt keeps the cursors unchanged, and refuses if a stored id may be assigned again. A
// physical restore to a point in time keeps the identifier, and the cursor is restored with the
// rows.
//
// Snapshots are not valid after a crash unless they were stored: a snapshot may show a
// transaction as done that was not on the disk yet (a rollback, a NOTIFY). The server then gives
// its transaction id to another, whose rows would be considered read. A stored snapshot is
// behind all that in the WAL. So a lease ends when the server recovers, even if no statement of
// its holder failed, and the next holder begins at the stored position. A position of one server
// is also not valid on another: a read there fails.
//
// A row whose transaction is ahead of the server comes from another server, regardless of the
// cursors. No window shows it; Read looks for such rows when it begins and every few seconds,
// and refuses them with log.ErrForeignDatabase until a Rebase.
//
// Roles that append or read need the sequence of ids, which the migration grants to PUBLIC. Its
// ids must not go back below existing rows: do not restart it.
//
//	proven by
//	no row skipped, none twice             TestLateCommitIsReadAfterwards, TestCommitDuringDrainJoinsTheNextWindow,
//	                                       TestSavepointsAndRollbacks, TestPreparedTransactionIsReadOnceItCommits
//	commit order of a key                  TestKeyOrderIsCommitOrderNotTransactionOrder, suite Stress, outboxtest.Stress
//	pruning keeps unread rows              TestRowsOfAnOpenWindowAreNotPruned, TestPruneSparesACursorWithoutProgress
//	pruning reads only rows it deletes     TestPruneReadsWhatItDeletes
//	pruning misses no late row             TestLateRowsArePruned, TestPruningBeginsAgainOnAnotherServer
//	a move reads its own row only          TestMovesBesideAHeldSnapshot, TestSweepDoesNotWait
//	an old snapshot moves nothing          TestOldSnapshotMovesNothing
//	a move names server, place and row     TestAnotherServerOrPlaceIsRefused
//	concurrent moves are serialized        TestConcurrentStatementsOfOneHolder, TestANewHolderWaitsForTheWork
//	an older schema is migrated            TestMigrationCarriesCursorsOver
//	a deleted cursor starts again          TestADeletedCursorStartsAgain
//	a crash ends positions not kept        TestPositionsEndWithTheServer (package faulttest)
//	a read on another server is refused    TestReadOnAnotherServer
//	another system is refused              TestForeignDatabaseIsRefusedAndRebased
//	… and adopted if its ids continue      TestAdopt
//	rows ahead of the server are refused   TestRowsAheadOfTheServer, TestRowsAheadAreNotReadBetweenLooks
//	statements read only their results     TestPlansUseTheIndexes, TestPlansMadeForAnEmptyTable, TestPlansWithOldStatistics,
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
//	COPY appends the same rows as a
//	statement would                        TestCopy
//
// The suite, logtest, checks all other guarantees of a log.
package pglog

// Package pglog is the append-only log of package sqllog on PostgreSQL 13+.
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
// Snapshots mean nothing on another database system, so a cursor keeps the
// system identifier and Lease answers sqllog.ErrForeignDatabase after a dump was
// restored elsewhere; Rebase puts the lane right. A physical restore to a point
// in time keeps the identifier, and the cursor is restored with the rows.
//
// Nor do they outlive a crash unless they were kept: a snapshot may show as done what
// was not on the disk yet (a rollback, a NOTIFY), and the server then gives its
// transaction id to another, whose rows would be taken for read. What was kept is
// behind all that in the WAL. So a lease ends when the server recovers, though no
// statement of its holder failed, and who takes it again begins at what was kept.
//
//	proven by
//	nothing skipped, nothing twice         TestLateCommitIsReadAfterwards, TestCommitDuringDrainJoinsTheNextWindow,
//	                                       TestSavepointsAndRollbacks, TestPreparedTransactionIsReadOnceItCommits
//	commit order of a key                  TestKeyOrderIsCommitOrderNotTransactionOrder, suite Stress, outboxtest.Stress
//	pruning leaves what is unread          TestRowsOfAnOpenWindowAreNotPruned
//	a crash ends positions not kept        TestPositionsEndWithTheServer (package faulttest)
//	another system is refused              TestForeignDatabaseIsRefusedAndRebased
//	reads use the indexes                  TestPlansUseTheIndexes, TestBacklogOfAFreshTableGetsStatistics
//	wake-ups                               TestNotifyWakesAListener, TestListenReconnects
//	any pool reads the same                TestBothScansAgree
//
// Everything else that a log owes is in the suite, sqllogtest.
package pglog

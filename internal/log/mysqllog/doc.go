// Package mysqllog is the append-only log of package log on MySQL and MariaDB,
// with InnoDB. It is tested on MySQL 9.7 and MariaDB 10.11.
//
// Ids are assigned before transactions commit, so the order of ids is not the order of commits:
// a reader that selects "id greater than the last one" skips late commits. MySQL has no
// snapshots that a cursor could store, and a reader that locks the rows it reads blocks writers.
// So an entry gets its place in the reading order after its commit:
//
//	append   the row is inserted with seq 0; all rows of a lane without a place are
//	         one range of the index (lane, seq, id)
//	look     a consistent read, without a lock, reads the lane's counter and the
//	         lowest committed ids of that range, except those that the reader has seen
//	         with a place: as many as are wanted, and up to 4,096 as the server is fast;
//	         on MariaDB a second look reads them again, and the ids in both are used
//	pass     one statement moves the counter, if it still has the value that was read,
//	         and gives each row the place counter + leap + (id - first id), by primary
//	         key: by a list of ids or, on MySQL, by their range where no id is missing
//	read     WHERE lane = ? AND seq > ? AND seq <= a place known to be given;
//	         a cursor is one number. The last look returns the rows that the pass
//	         gives places to, and the looks of the next pass are made during this one:
//	         their result is kept for the reader that continues behind it
//
// Any reader of any group that has reached the end of its lane makes the pass. If several try,
// the condition on the counter lets one through, and the others look again. The pass is one
// statement that commits on its own: a client that stalls or dies between two statements leaves
// no lock.
//
//	property                                          why
//	no committed row is skipped                       without a place it stays in the range, however late it
//	                                                  commits; with one it lies above every place given before
//	no row is read twice                              the counter moves in the statement that gives places, so
//	                                                  a row is in one pass only
//	rows of a key are read in commit order            of two writers of a key the second appends after the first
//	                                                  has committed, so its id is higher; a pass that takes its
//	                                                  row takes the first one's, too, or an earlier pass did
//	all groups read in one order                      places never change
//	an open transaction delays no reader              its rows cannot be seen, and get a place once they can
//	a reader delays no writer                         passes lock rows that are committed, by primary key: no gaps,
//	                                                  and never a row of an open transaction
//
// Reason for two looks. InnoDB shows a transaction to others before it releases its locks, so a
// reader that sees the second writer of a key should see the first. On MySQL this holds. MariaDB
// (10.3 and later) records the running transactions one by one: if the first commits after it
// was recorded as running, and the second before it was recorded, a reader sees the second
// without the first: about once in 10,000 commits on an overloaded machine. But the first has
// committed before the record is complete, so the next look shows it. So one look is enough on
// MySQL, and each look returns the kind of its server. On MariaDB:
//
//   - Of the ids in the first look, only those below the lowest id that is only in the second
//     look get places: any of the others may have such a predecessor.
//   - An id that the first look showed in error, because it hid an earlier pass but showed a
//     later one's counter, is not in the second look.
//   - A read does not go beyond a place that an earlier statement has seen, since its own
//     snapshot may show a pass and hide the one before it.
//   - The looks during a pass leave out its rows. Their own pass is made only if the counter has
//     the value that the pass before it sets: then that pass succeeded, and no other pass came
//     between.
//
// The order of a key holds for writers that append after they have locked the key's row (or read
// its version under a check), on one server that accepts writes: with several primaries ids are
// not assigned in one order.
//
// # Failover
//
// A promoted replica may lack the last commits, and so may a server after a crash, with
// innodb_flush_log_at_trx_commit at 0 or 2. Rows, places and cursors then go back together, and
// the lost ids and places are assigned again. A reader must then discard its memory: continuing
// from it would skip rows. Two checks detect this. A position names its server (server id, host
// and port), and the row at its place. And a pass begins at random 1 to 2^20 places behind the
// one before, so that a row at a place proves its pass, and all passes before it: a repeated
// pass gives a place to the same row with a chance of one in a million. (2^63 places last 5,500
// years at 100 passes a second.)
//
//	1  Lease   returns the cursor's position, P, and the server, in one transaction.
//	           The rows behind P in the log now are those to be read.
//	2  Read    after P returns the rows up to M. After M, which is not settled yet, it
//	           returns rows only if row M is still at its place, in the statement that
//	           reads them: otherwise the rows between could differ from those that were
//	           read. If every cursor of the lane has passed M, row M may be pruned.
//	           Its bound, a place that an earlier statement has seen, is checked in
//	           the same way; readers share their bounds.
//	3  Advance moves the cursor from P to M, if the server is the lease's, the cursor
//	           is at P (or at M: it is repeated), and row M is at its place. So
//	           the passes up to M are those that were read, and all of them were.
//	4  Renew   checks the server and P. A token that a crash undoes is given to
//	           another holder again; so every statement checks the holder, too.
//
// A crash between a look and the pass may lose rows of the look, and assign their ids to others.
// Ids are assigned again from some id on, so the last of the pass is among them: it gets its
// place only if its message is that of the look. If a row got no place, the pass is discarded,
// and the reader looks again.
//
// If any check fails, the error is log.ErrLeaseLost, and the next lease begins with the server's
// state. A proxy may reach two servers with one pool: each statement checks for itself. Do not
// use a log through a proxy that sends reads to replicas.
//
// Two other designs were considered. Passes could be stored as lists of ids, one row per pass,
// instead of a place in every row; that would save two thirds of a pass. But finding the rows
// without a place would need to know which missing ids below the highest are rolled back and
// which may still commit, and InnoDB does not tell this to a user without special rights.
// Counting places with a variable (@n := @n + 1) makes them dense, costs the same and is
// deprecated.
//
//	proven by
//	late commits, rollbacks                TestLateCommitIsReadAfterwards, suite Stress, outboxtest.Stress
//	commit order of a key                  TestKeyOrderAcrossPasses, suite Stress and TwoConsumers
//	one pass at a time, places stay        TestStalePassGivesNothing, TestReadersAgree
//	a failover loses nothing               TestFailoverToALaggingReplica, suite OtherServer
//	nor does a crash with relaxed flushing TestCrashThatLosesCommits, TestCrashThatMovesTheCursorBack,
//	                                       TestPlaceTellsItsPass, TestLostTokenIsGivenAgain,
//	                                       TestReusedIDsAreNotMistaken, TestLostIDsInAnotherLane,
//	                                       suite OtherPosition, RowGone
//	readers check known places,
//	an Advance may be repeated             TestStaleBoundIsNotBelieved, TestAdvanceIsRepeated
//	snapshots may hide a commit            TestHiddenCommitKeepsItsPlace, TestHiddenPassIsNotRepeated,
//	                                       TestHiddenPassIsReadFirst, TestReadStopsAtWhatIsKnown, TestSure
//	one look is enough where reported      TestOneLookIsEnough
//	the rows of a look during a pass are   TestLookAhead
//	discarded if another pass is first
//	rows left out of a look have places    TestUnread, TestManyLateRowsAreFound,
//	                                       TestUndonePassesAreRepeated, TestLooksLeaveOutWhatWasRead
//	a pass and a writer do not wait        TestPassAndAppendDoNotWait, TestPassOverARangeDoesNotWait
//	passes that deadlock look again        TestPassesThatDeadlock
//	any pool works                         TestPlainPool (REPEATABLE READ, other time zone, changed rows counted)
//	one statement, limits with an error    TestAppendLimits
//	a pruned lane, an unread lane          suite Prune, PruneAge, TestPruneGoesOn
//	reads use the indexes                  TestPlansUseTheIndexes
//	a copy resumes where its cursors are   TestCopyGoesOn
//	commits of other processes are noticed TestWatch, TestWatchReconnects, TestCompare
//
// # Plans
//
// MySQL estimates a scan of the whole index as cheap when its statistics are those of an almost
// empty table: until it renews them, some seconds after the table has grown, or for ever where
// innodb_stats_auto_recalc is off. It scans only if the index holds every column of the
// statement, or to sort rows. So the looks select the message id, tips and backlogs have a
// condition on the topic that always holds, and the reader sorts rows. TestPlansUseTheIndexes
// has both kinds of statistics.
//
// Time is the server's, UTC_TIMESTAMP(6), in any session time zone.
//
// Positions are numbers in the same database, so they stay valid in a restored backup, and Lease
// never returns log.ErrForeignDatabase.
//
// Failure modes: a transaction that keeps an old snapshot for hours (a dump with
// --single-transaction) prevents InnoDB from purging, and every row that gets its place leaves a
// dead entry in the range of those without one. A look passes over some 25 million a second,
// 0.04 ms for every 1,000, two or three times a round. So it selects only ids that the reader
// has not seen with a place, in up to 8 spans; the same statement checks that the newest of the
// other rows is still at its place, so that no crash has undone a pass. A missing id is selected
// as long as the reader lives, since its transaction may be open: an id that was assigned and is
// not inserted yet looks like one that was rolled back. If more ids are missing than 8 spans can
// exclude, because of many rollbacks or because the table has several lanes, looks pass over the
// dead entries between the nearest. Watch then polls less often. Pruning continues behind the
// rows it has deleted. A server that writes its binary log by statement refuses writes at READ
// COMMITTED, and at another level its replicas miss the statements that read the server's name:
// use ROW (the default of MySQL) or MIXED (that of MariaDB), which writes such statements as
// rows. A pool without clientFoundRows, parseTime or interpolateParams works; without the last
// one a statement takes two round trips instead of one.
package mysqllog

// Package mysqllog is the append-only log of package log on MySQL and MariaDB,
// with InnoDB. It is tested on MySQL 9.7 and MariaDB 10.11.
//
// Ids are handed out before transactions commit, so the order of ids is not the
// order of commits: a reader that asks for "id greater than the last one" skips
// whatever commits late. There are no snapshots here that a cursor could
// remember, and a reader that locks what it reads blocks those who append. So
// an entry gets its place in the order of reading after its commit:
//
//	append   the row is inserted with seq 0; all rows of a lane without a place are
//	         one range of the index (lane, seq, id)
//	look     a consistent read, without a lock, takes the lane's counter and the
//	         lowest committed ids of that range, but for those that the reader has seen
//	         with a place: as many as are wanted, and up to 4,096 as the server is fast;
//	         on MariaDB a second one takes them once more, and what both agree on goes on
//	pass     one statement moves the counter, if it still is what was read, and
//	         gives each row the place counter + leap + (id - first id), by primary key:
//	         by a list of ids or, on MySQL, by their range where no id is missing
//	read     WHERE lane = ? AND seq > ? AND seq <= a place known to be given;
//	         a cursor is one number. The last look returns the rows that the pass
//	         gives places to, and the looks of the next pass are made during this one:
//	         what they found is kept for the reader that goes on behind it
//
// Any reader that has come to the end of its lane makes the pass, whatever its
// group; the condition on the counter lets one of several through, and the
// others look again. The pass is one statement that commits by itself: a client
// that stalls or dies between two statements leaves nothing locked.
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
//	an open transaction delays nobody                 its rows cannot be seen, and get a place once they can
//	a reader delays nobody who appends                passes lock rows that are committed, by primary key: no gaps,
//	                                                  and never a row of an open transaction
//
// Why two looks. InnoDB shows a transaction to others before it frees its locks,
// so whoever sees the second writer of a key should see the first. MySQL keeps to
// that; MariaDB (10.3 and later) notes the running transactions one by one, and
// when the first commits after it was noted as running and the second before its
// turn came, a reader sees the second without the first: about once in 10,000
// commits on an overloaded machine. But the first is done with before the note is
// complete, so the next look shows it. So one look is enough on MySQL, and each look
// says what its server is. On MariaDB:
//
//   - of what the first look saw, only the ids below the lowest that appears in the
//     second look alone get places: any of the others may have such a predecessor;
//   - an id that the first look showed in error, because it hid an earlier pass
//     but showed a later one's counter, is gone from the second look;
//   - a read does not go beyond a place that an earlier statement has seen, since
//     its own view may show a pass and hide the one before it;
//   - the looks that are made during a pass leave its rows out, and their own pass is
//     made only if the counter is what the pass before it sets: so that one came true,
//     and no other pass came between.
//
// The order of a key holds for writers that append after they have locked the
// key's row (or read its version under a check), on one server that takes
// writes: with several primaries ids are not handed out in one order.
//
// # What a failover leaves
//
// A replica that is promoted may lack the last commits, and so may a server after a
// crash, with innodb_flush_log_at_trx_commit at 0 or 2. Rows, places and cursors then
// go back together, and the ids and places that were lost are given again. What a
// reader has in memory is of no use then: going on from it would pass over rows. Two
// things tell. A position names its server (server id, host and port), and the row at
// its place. And a pass begins at random 1 to 2^20 places behind the one before, so
// that a row at a place proves the pass that put it there, with all passes before it:
// a repeated pass gives a place to the same row with a chance of one in a million.
// (2^63 places last 5,500 years at 100 passes a second.)
//
//	1  Lease   returns where the cursor stands, P, and the server, in one transaction.
//	           What is behind P in the log now is what has to be read.
//	2  Read    after P returns the rows up to M. After M, which is not settled yet, it
//	           returns rows only if row M is still at its place, in the statement that
//	           reads them: else the rows between would be others than those that were
//	           read. Where every cursor of the lane has passed M, row M may be pruned.
//	           Its bound, a place that an earlier statement has seen, is asked for in
//	           the same way; readers share what they know of it.
//	3  Advance moves the cursor from P to M, if the server is the lease's, the cursor
//	           stands at P (or at M: it is repeated), and row M is at its place. So
//	           the passes up to M are those that were read, and all of them were.
//	4  Renew   asks for the server and for P. A token that a crash undoes is given to
//	           another holder once more; so every statement asks for the holder, too.
//
// A crash between a look and the pass may lose rows that were seen, and have their ids
// given to others. Ids are given again from some id on, so the last of the pass is among
// them: it gets its place only if its message is the one that was seen. Where a row got
// none the pass is not believed, and what is there is looked at once more.
//
// Whatever does not hold is log.ErrLeaseLost, and the next lease begins with what
// the server has. A proxy may reach two servers with one pool: each statement asks by
// itself. A proxy that sends reads to replicas must not stand before a log.
//
// Two other designs were weighed. Passes could be written down as lists of ids,
// one row per pass, instead of a place in every row; that would save two thirds
// of a pass, but finding what has no place yet then needs to know which missing
// ids below the highest are rolled back and which may still commit, and InnoDB
// does not tell a user without special rights. Counting places with a variable
// (@n := @n + 1) makes them dense, costs the same and is deprecated.
//
//	proven by
//	late commits, rollbacks                TestLateCommitIsReadAfterwards, suite Stress, outboxtest.Stress
//	commit order of a key                  TestKeyOrderAcrossPasses, suite Stress and TwoConsumers
//	one pass at a time, places stay        TestStalePassGivesNothing, TestReadersAgree
//	a failover loses nothing               TestFailoverToALaggingReplica, suite OtherServer
//	nor does a crash with relaxed flushing TestCrashThatLosesCommits, TestCrashThatMovesTheCursorBack,
//	                                       TestPlaceTellsItsPass, TestLostTokenIsGivenAgain,
//	                                       TestReusedIDsAreNotMistaken,
//	                                       suite OtherPosition, RowGone
//	what readers know of places is asked
//	for, an Advance may be repeated        TestStaleBoundIsNotBelieved, TestAdvanceIsRepeated
//	views that hide a commit do no harm    TestHiddenCommitKeepsItsPlace, TestHiddenPassIsNotRepeated,
//	                                       TestHiddenPassIsReadFirst, TestReadStopsAtWhatIsKnown, TestSure
//	one look is enough where it says so    TestOneLookIsEnough
//	what is looked at during a pass is     TestLookAhead
//	passed over when another comes first
//	what is left out of a look has a place TestUnread, TestManyLateRowsAreFound,
//	                                       TestUndonePassesAreRepeated, TestLooksLeaveOutWhatWasRead
//	a pass and a writer do not wait        TestPassAndAppendDoNotWait, TestPassOverARangeDoesNotWait
//	passes that deadlock look again        TestPassesThatDeadlock
//	any pool will do                       TestPlainPool (REPEATABLE READ, other time zone, changed rows counted)
//	one statement, limits with an error    TestAppendLimits
//	a pruned lane, an unread lane          suite Prune, PruneAge, TestPruneGoesOn
//	reads use the indexes                  TestPlansUseTheIndexes
//	a copy goes on where its cursors stand TestCopyGoesOn
//	commits of other processes are noticed TestWatch, TestWatchReconnects, TestCompare
//
// # Plans
//
// MySQL holds a scan of the whole index for cheap when its statistics are those of an
// almost empty table: until it renews them, some seconds after the table has grown, or
// for ever where innodb_stats_auto_recalc is off. It scans only where the index holds
// every column that the statement asks for, or to put rows in order. So the looks ask for
// the message id, tips and backlogs have a condition on the topic that always holds, and
// rows are put in order by the reader. TestPlansUseTheIndexes has both kinds of statistics.
//
// Time is the server's, UTC_TIMESTAMP(6), whatever the session's time zone.
//
// Positions are numbers in the same database, so they stay right in a restored
// backup, and Lease never answers log.ErrForeignDatabase.
//
// Failure modes: a transaction that keeps an old snapshot for hours (a dump with
// --single-transaction) keeps InnoDB from purging, and every row that gets its place
// leaves a dead entry in the range of those without one. A look passes over some 25
// million a second, 0.04 ms for every 1,000, two or three times a round. So it asks only for
// ids that the reader has not seen with a place, in up to 8 spans; that the newest of
// the others is still at its place, asked for in the same statement, says that no
// crash has undone a pass. An id that is missing is asked for as long as the reader
// lives, for its transaction may be open: one that was handed out and is not inserted
// yet looks like one that was rolled back. Where more are missing than make 8 spans,
// by many rollbacks or because the table has several lanes, looks pass over the dead
// entries between the nearest. Watch looks less often then. Pruning goes on
// behind what it has deleted. A server that writes its
// binary log by statement refuses writes at READ COMMITTED, and at another level its
// replicas miss what asks for the server's name: use ROW (the default of MySQL) or
// MIXED (that of MariaDB), which writes such statements as rows. A pool without
// clientFoundRows, parseTime or interpolateParams works, the last one for two round
// trips per statement instead of one.
package mysqllog

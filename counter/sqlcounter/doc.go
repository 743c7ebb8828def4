// Package sqlcounter keeps the totals of counters in SQL tables ([Applier]), and
// their change rows ([Log]). It links no driver: hand it a *sql.DB that you opened.
//
//	property                                          PostgreSQL  MariaDB  SQLite  proven by
//	Applier's contract                                yes         yes      yes     TestConformance
//	Source's contract                                 yes         yes      yes     TestLogConformance
//	flushers killed at random points, 50 writers      yes         yes      yes     TestKilledFlushers
//	… and writers killed, Redis flushed: totals are
//	the rows, each change row was read once           yes         yes      yes     TestEverythingBreaks
//	counters share a log and do not see each other    yes         yes      yes     TestLogConformance, TestReadGoesOnBehindOthers
//	rows go when all counters are done with them      yes         yes      yes     TestTrim
//	what a failover loses between its read and its
//	transaction is not counted, what it leaves is     yes         yes      yes     TestConformance, TestFailoverBetweenReadAndApply
//	further rows change with the totals, or nothing   yes         yes      yes     TestAlso, TestIgnoredDeadlock
//	the tables look as documented                     yes         yes      yes     TestColumns
//	migrations can be run, printed or embedded        yes         yes      yes     TestMigrations
//	positions of another database are refused         yes         n/a      n/a     TestRestoredElsewhere
//
// It needs what came with PostgreSQL 13, MySQL 8.0.13, MariaDB 10.6 and SQLite 3.42,
// and is tested on PostgreSQL 15, MySQL 9.7 and MariaDB 10.11. PostgreSQL is used
// through pgx.
//
// # Tables
//
//	count_totals     counter, counter_key, total, updated_at
//	count_batches    batch_id, counter, processed_from, processed_to, row_count, applied_at
//	count_flushers   counter, processed_to, holder, token, leased_until, applied
//	count_changes    the change rows of all counters, and count_cursors, how far they are trimmed
//
// Migrations keep their versions in millrace_counter_version, and those of the log
// in millrace_counter_log_version. Totals and log may be in different databases.
//
// # Positions
//
// The log is read in the order of commits as the cursor outbox reads its own: by
// windows between snapshots on PostgreSQL, by places given after the commit on
// MySQL and MariaDB, by ids on SQLite. So a transaction that commits late is read
// late, and not skipped. On MariaDB a round can leave a change to the next one when
// another, appended before it, commits at the very moment of the look; readers then
// see it 3 s later.
//
// # Failure modes
//
// All who apply batches of one counter wait for each other at its row of
// count_flushers; writers never wait for them. A counter that nobody flushes any more
// keeps the change rows of all from being trimmed: delete its row of count_cursors. One
// whose tables were not made by [Log.Migrate] keeps its rows from its first round on:
// begin to flush within Keep of beginning to write. A PostgreSQL restored elsewhere has
// positions that mean nothing there: Read refuses them. Then empty count_changes,
// count_cursors and count_flushers, and set count_totals to the counted rows, while
// nobody writes. A proxy that sends reads to replicas must not stand before it.
//
// A lease ends with the run of the server that gave it, and change rows are looked at
// once more in the transaction that counts them. That is one statement's view when
// Applier and Log have the same *sql.DB. With totals in another database, a failover
// there or of the log's database that loses commits leaves totals and rows apart: Read
// then fails, since its position has gone, until count_totals is set as above.
package sqlcounter

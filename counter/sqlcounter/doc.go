// Package sqlcounter keeps the totals of counters in SQL tables ([Applier]), and their change
// rows ([Log]). It links no driver: pass it a *sql.DB that you opened.
//
//	property                                          PostgreSQL  MariaDB  SQLite  proven by
//	Applier's contract                                yes         yes      yes     TestConformance
//	Source's contract                                 yes         yes      yes     TestLogConformance
//	flushers killed at random points, 50 writers      yes         yes      yes     TestKilledFlushers
//	… and writers killed, Redis flushed: totals are
//	the rows, each change row was read once           yes         yes      yes     TestEverythingBreaks
//	counters share a log and do not see each other    yes         yes      yes     TestLogConformance, TestReadGoesOnBehindOthers
//	rows are trimmed when all counters applied them   yes         yes      yes     TestTrim
//	rows lost in a failover between the read and the
//	transaction are not counted, remaining rows are   yes         yes      yes     TestConformance, TestFailoverBetweenReadAndApply
//	further rows change with the totals, or nothing   yes         yes      yes     TestAlso, TestIgnoredDeadlock
//	the tables look as documented                     yes         yes      yes     TestColumns
//	migrations can be run, printed or embedded        yes         yes      yes     TestMigrations
//	positions of another database are refused         yes         n/a      n/a     TestRestoredElsewhere
//
// It needs features of PostgreSQL 13, MySQL 8.0.13, MariaDB 10.6 and SQLite 3.42, and is tested
// on PostgreSQL 15, MySQL 9.7 and MariaDB 10.11. PostgreSQL is used through pgx.
//
// # Tables
//
//	count_totals     counter, counter_key, total, updated_at
//	count_batches    batch_id, counter, processed_from, processed_to, row_count, applied_at
//	count_flushers   counter, processed_to, holder, token, leased_until, applied
//	count_changes    the change rows of all counters, and count_cursors, the positions of trimming
//
// Migrations keep their versions in millrace_counter_version, and those of the log
// in millrace_counter_log_version. Totals and log may be in different databases.
//
// # Positions
//
// The log is read in the order of commits, like the log of the cursor outbox: by windows
// between snapshots on PostgreSQL, by places assigned after the commit on MySQL and MariaDB, by
// ids on SQLite. So a transaction that commits late is read late, and not skipped. On MariaDB a
// round can leave a change to the next one if another change, appended before it, commits at
// the very moment of the read; readers then see the change 3 s later.
//
// # Failure modes
//
// All transactions that apply batches of one counter wait for each other at its row of
// count_flushers; writers never wait for them. A counter that is not flushed any more keeps the
// change rows of all counters from being trimmed: delete its row of count_cursors. A counter
// whose tables were not created by [Log.Migrate] keeps its rows from its first round on: begin
// to flush within Keep after the first write. On a PostgreSQL that was restored elsewhere the
// positions are invalid: Read refuses them. Then stop all writers, empty count_changes,
// count_cursors and count_flushers, and set count_totals to the counted rows. Do not put a
// proxy that sends reads to replicas in front of the database.
//
// A lease ends with the run of the server that gave it, and change rows are read again in the
// transaction that counts them. If Applier and Log have the same *sql.DB, that read and the
// count see the same state. With totals in another database, a failover there, or a failover of
// the log's database that loses commits, leaves totals and rows inconsistent: Read then fails,
// since its position is gone, until count_totals is set as above.
package sqlcounter

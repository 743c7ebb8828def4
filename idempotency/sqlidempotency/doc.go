// Package sqlidempotency keeps idempotency keys in a SQL table, in the same transaction as the
// handler's effect ([New]), and leases for effects outside the database ([NewLeases]). It links
// no driver: pass it a *sql.DB that you opened.
//
//	property                                                  PostgreSQL   MySQL, MariaDB   SQLite   proven by
//	key and effect commit together                            yes          yes              yes      TestConformance
//	a concurrent duplicate waits and takes over               yes          yes              yes      TestConformance
//	many keys in one statement, new ones returned in order    yes          yes              yes      TestConformance
//	a statement error the handler swallowed leaves no key     yes          deadlocks        -        TestSwallowedErrorLeavesNoKey,
//	                                                                                                 TestIgnoredDeadlockIsNoSuccess
//	both table layouts keep the same guarantees               yes          yes              yes      TestConformance
//	the tables look as documented                             yes          yes              yes      TestColumns, TestLeaseMigrations
//	migrations can be run, printed or embedded                yes          yes              yes      TestMigrations, TestLeaseMigrations
//	any client setting that counts or isolates differently    -            yes              -        TestMySQLClients
//	a rollback with many waiters costs retries, no effect     -            yes              -        TestRollbackWithManyWaiters
//	a conflict with another transaction (SERIALIZABLE,
//	deadlocks), also at COMMIT, runs the handler again;
//	one effect stays one                                      yes          yes              -        TestCrossedHandlers,
//	                                                                                                 TestConflictAtCommitIsHandledAgain,
//	                                                                                                 TestHandlerIsRunAgain
//	a pool of one connection is enough                        yes          yes              yes      TestPoolOfOne
//	leases: one holder, growing tokens, takeover              yes          yes              yes      TestLeaseConformance, TestLeaseModel
//
// It needs features of PostgreSQL 13, MySQL 8.0.13, MariaDB 10.6 and SQLite 3.42, and is tested
// on PostgreSQL 15, MySQL 9.7 and MariaDB 10.11.
//
// # Tables
//
// The table event_handled has the primary key idempotency_key, and
// consumer_group, event_type, aggregate_id, handled_at. With Config.ProcessedEvents, the table
// processed_events has the composite primary key (event_id, consumer_service), and
// aggregate_id, event_type, processed_at; there a key {group}:{rest} is stored as
// consumer_service = group and event_id = rest, so other services can read and write it by
// event id. On MySQL both have one more column, batch, which other services leave NULL; keys
// are VARBINARY, independent of the collation; times are UTC.
//
// The leases' table is idempotency_leases, with the primary key idempotency_key.
//
// A key that is longer than 255 bytes, or that the database cannot store as text, is stored as
// its beginning and its SHA-256. On MySQL the other texts are truncated after 255 bytes. Times
// are the database's own.
//
// # Waiting
//
// On PostgreSQL the insert of a key that another open transaction has inserted waits for that
// transaction: if that commits, the key is a duplicate; if it rolls back, the insert goes on.
// Each waiting call holds a connection. In an isolation level above READ COMMITTED the waiting
// call fails instead with a serialization error (40001). On SQLite write transactions queue
// anyway.
//
// On MySQL the insert waits too, at most for innodb_lock_wait_timeout. If the first transaction
// rolls back, InnoDB lets all waiting inserts continue at once. They block each other, and
// InnoDB ends that deadlock by rolling back all but one.
//
// If the database rolled a call's transaction back because of such a conflict, at the key, in
// the handler or at COMMIT, the call begins a new transaction and RUNS THE HANDLER AGAIN, up to
// 20 times ([sqltx.Do]). Then it returns the database's error, which is transient. Inside a
// transaction of the caller it returns that error at once, since the server has rolled all of
// it back; the caller's sqltx.Do begins again. On MySQL never ignore such an error: the session
// goes on without a transaction, and later writes are committed statement by statement.
// [Store.Once] reads its key before the commit, one more round trip, so that a handler that
// ignored such an error fails.
//
// On MySQL a duplicate is detected by ON DUPLICATE KEY UPDATE, which sets the last insert id.
// So no error has to be recognized, as with a plain INSERT; no other errors are hidden, as with
// INSERT IGNORE; and the way in which the client counts rows does not matter.
//
// A batch's keys are inserted in the order of their bytes, regardless of the order of its
// records, so that overlapping batches wait for each other instead of deadlocking.
//
// # Failure modes
//
// An error leaves neither key nor effect. After an error of COMMIT the outcome is unknown until
// the next delivery. On PostgreSQL a failed statement spoils the whole transaction, even if the
// handler ignores its error: COMMIT then fails. On SQLite, and on MySQL except for deadlocks,
// the other statements of such a handler are committed. Do not prune keys that are younger than
// the retention; see package idempotency. A lease's deadline follows the database's clock: if
// the clock is set back by an hour, the lease lasts an hour longer; tokens still grow as long
// as the key's row exists. A claim writes a row and then reads it: do not use a proxy that
// sends reads to replicas, or a successful claim ends with an error and blocks its key until
// the deadline.
package sqlidempotency

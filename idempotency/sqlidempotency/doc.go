// Package sqlidempotency keeps idempotency keys in a SQL table, in the same
// transaction as the handler's effect ([Store]), and leases for effects outside
// the database ([Leases]). It links no driver: hand it a *sql.DB that you opened.
//
//	property                                                  PostgreSQL   MySQL, MariaDB   SQLite   proven by
//	key and effect commit together                            yes          yes              yes      TestConformance
//	a concurrent duplicate waits and takes over               yes          yes              yes      TestConformance
//	many keys in one statement, new ones returned in order    yes          yes              yes      TestConformance
//	a statement error the handler swallowed leaves no key     yes          deadlocks        -        TestSwallowedErrorLeavesNoKey,
//	                                                                                                 TestIgnoredDeadlockIsNoSuccess
//	both table layouts keep the same promises                 yes          yes              yes      TestConformance
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
// It needs what came with PostgreSQL 13, MySQL 8.0.13, MariaDB 10.6 and SQLite 3.42,
// and is tested on PostgreSQL 15, MySQL 9.7 and MariaDB 10.11.
//
// # Tables
//
// [EventHandled] is the table event_handled with the primary key
// idempotency_key, and consumer_group, event_type, aggregate_id, handled_at.
// [ProcessedEvents] is the table processed_events with the composite primary
// key (event_id, consumer_service), and aggregate_id, event_type, processed_at;
// there a key {group}:{rest} is stored as consumer_service = group and
// event_id = rest, so other services can read and write it by event id. On MySQL
// both have one more column, batch, which others leave NULL, and keys are
// VARBINARY, which any collation leaves alone; times are UTC.
//
// The leases' table is idempotency_leases, with the primary key idempotency_key.
//
// Keys longer than 255 bytes, and such that the database cannot hold as text,
// are stored as their beginning and their SHA-256. On MySQL the other texts are
// cut after 255 bytes. Times are the database's own.
//
// # How it waits
//
// On PostgreSQL the insert of a key that another open transaction has inserted
// waits for that transaction: committed, it is a duplicate; rolled back, the
// insert goes on. Each waiting call holds a connection. In an isolation level
// above READ COMMITTED the waiting one fails instead with a serialization error
// (40001). On SQLite write transactions queue anyway.
//
// On MySQL the insert waits too, at most for innodb_lock_wait_timeout. When the
// first rolls back, though, InnoDB lets all that wait go on at once, where they
// block each other: it ends that deadlock by rolling back all but one.
//
// A call whose transaction the database rolled back for such a conflict, at the
// key, in the handler or at COMMIT, begins it again and RUNS THE HANDLER AGAIN,
// up to 20 times ([sqltx.Do]), before it returns the database's error, which is
// transient. Inside a transaction of the caller it returns that error at once,
// since the server has rolled all of it back; the caller's sqltx.Do begins it
// again. On MySQL never ignore such an error: the session goes on without a
// transaction, and what it then writes is committed statement by statement.
// [Store.Once] looks for its key before the commit, one more round trip, so that
// a handler that did so is no success.
//
// A duplicate is told on MySQL by ON DUPLICATE KEY UPDATE, which sets the last
// insert id: neither does an error have to be recognized, as with a plain INSERT,
// nor are others hidden, as with INSERT IGNORE, nor does the client's way to count
// rows matter.
//
// A batch's keys are inserted in the order of their bytes, whatever the order
// of its records, so that overlapping batches wait for each other instead of
// deadlocking.
//
// # Failure modes
//
// An error leaves neither key nor effect; when it comes from COMMIT the outcome
// is unknown, and the next delivery finds out. On PostgreSQL a failed statement
// spoils the whole transaction, also when the handler ignores its error: COMMIT
// then fails. On SQLite, and on MySQL but for deadlocks, the other statements of
// such a handler are committed. Keys below the retention must not be pruned; see
// package idempotency. A lease's deadline follows the database's clock: set back
// by an hour, it lasts an hour longer, and tokens still grow as long as the key's
// row is there. A claim is a write and a read of what it wrote: a proxy that
// sends reads to replicas must not stand before it, or a claim that succeeded
// ends with an error and blocks its key until the deadline.
package sqlidempotency

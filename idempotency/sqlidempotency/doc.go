// Package sqlidempotency keeps idempotency keys in a SQL table, in the same
// transaction as the handler's effect. It links no driver: hand it a *sql.DB
// that you opened.
//
//	property                                                  PostgreSQL   SQLite   proven by
//	key and effect commit together                            yes          yes      TestConformance
//	a concurrent duplicate waits and takes over               yes          yes      TestConformance
//	a statement error the handler swallowed leaves no key     yes          -        TestSwallowedErrorLeavesNoKey
//	both table layouts keep the same promises                 yes          yes      TestConformance
//	the tables look as documented                             yes          yes      TestColumns
//	migrations can be run, printed or embedded                yes          yes      TestMigrations
//
// # Tables
//
// [EventHandled] is the table event_handled with the primary key
// idempotency_key, and consumer_group, event_type, aggregate_id, handled_at.
// [ProcessedEvents] is the table processed_events with the composite primary
// key (event_id, consumer_service), and aggregate_id, event_type, processed_at;
// there a key {group}:{rest} is stored as consumer_service = group and
// event_id = rest, so other services can read and write it by event id.
//
// Keys longer than 255 bytes, and such that the database cannot hold as text,
// are stored as their beginning and their SHA-256. Times are the database's own.
//
// # How it waits
//
// On PostgreSQL the insert of a key that another open transaction has inserted
// waits for that transaction: committed, it is a duplicate; rolled back, the
// insert goes on. Each waiting call holds a connection. In an isolation level
// above READ COMMITTED the waiting one fails instead with a serialization error
// (40001), which is transient. On SQLite write transactions queue anyway.
//
// # Failure modes
//
// An error leaves neither key nor effect; when it comes from COMMIT the outcome
// is unknown, and the next delivery finds out. On PostgreSQL a failed statement
// spoils the whole transaction, also when the handler ignores its error: COMMIT
// then fails. On SQLite the other statements of such a handler are committed.
// Keys below the retention must not be pruned; see package idempotency.
package sqlidempotency

// Package debezium says how Debezium's outbox event router reads the outbox's
// tables, so that a team can switch from the relay to change-data capture
// without touching its writers.
//
//	property                                                     proven by
//	the settings name tables and columns that the stores make    TestColumnsExist
//	no password is asked for or printed                          TestOptions
//	both forms carry the same settings                           TestForms
//	Debezium's own connectors for PostgreSQL and MySQL and its
//	router, given these settings, publish what was committed,
//	once, in the order of its key                                TestConnector
//
// # What the consumers receive
//
// The record's topic, key and value are those that the relay publishes on Kafka:
// the column topic, the event's key as text, and the bytes of the column payload
// as they are. Headers carry the message's id (both as Debezium's "id" and where
// Watermill's Kafka subscriber looks for it), the event's key and type, and the
// content type, which tells package event and the CloudEvents SDKs that the
// value is a structured event. The column headers, one JSON text for all
// metadata, cannot be taken apart by the router; so events must be appended with
// the codec event.Structured, which is the default and needs no further headers.
// An event without a key has an empty key instead of none.
//
// A message's CloudEvents id stays the idempotency key: consumers need no change.
//
// # Switching
//
// Make the connector first, while the relay runs; it begins with what commits
// from then on (snapshot.mode no_data), because rows that are there may have been
// published long ago. Then stop the relay once it has drained. What was appended
// in between is published by both, and nothing by neither. Afterwards nobody
// marks or prunes: delete old rows by a job of your own, or append and delete in
// one transaction. Going back works the other way round: rows that only the
// connector has published are still to be published for the relay, so delete
// them before it starts, or let it repeat them.
//
// # Requirements
//
// PostgreSQL: wal_level=logical, a user with REPLICATION, and a replication slot,
// which keeps WAL for as long as the connector is away. MySQL and MariaDB: the
// binary log in ROW format with full row images, and a Kafka topic for
// the schema history. The settings for MariaDB differ from MySQL's by the
// connector's class; they have not been run. Debezium 2.6 or later; on earlier ones snapshot.mode is
// "never" (PostgreSQL) or "schema_only" (MySQL), and MariaDB is read by the MySQL
// connector. SQLite has no connector.
package debezium

// Package debezium configures Debezium's outbox event router for the outbox's tables, so that a
// team can switch from the relay to change-data capture without changing its writers.
//
//	err := debezium.WriteProperties(os.Stdout, debezium.Options{Dialect: sqltx.Postgres, Host: "db", DatabaseName: "shop"})
//
//	property                                                     proven by
//	the settings name tables and columns that the stores make    TestColumnsExist
//	no password is asked for or printed                          TestOptions
//	both forms carry the same settings                           TestForms
//	with these settings, Debezium's own connectors for PostgreSQL
//	and MySQL and its router publish all committed events, once,
//	in the order of their key                                    TestConnector
//
// # The consumers' records
//
// A record has the same topic, key and value as one that the relay publishes on Kafka: the
// column topic, the event's key as text, and the bytes of the column payload. Headers carry the
// message's id (both as Debezium's "id" and where Watermill's Kafka subscriber looks for it),
// the event's key and type, and the content type, which identifies the value as a structured
// event for package event and the CloudEvents SDKs. The router cannot split the column headers,
// one JSON text for all metadata. So append events in the structured mode of package event, which is
// the default and needs no further headers. An event without a key has an empty key instead of
// none.
//
// A message's CloudEvents id stays the idempotency key: consumers need no change.
//
// # Switching
//
// Create the connector first, while the relay runs; it begins with the next commits
// (snapshot.mode no_data), because existing rows may have been published long ago. Then stop
// the relay once it has drained. Both publish the events that are appended in between, and no
// event is missed. Afterwards no rows are marked or pruned: delete old rows with your own job,
// or append and delete in one transaction. To go back, reverse these steps. Rows that only the
// connector has published are still pending for the relay: delete them before it starts, or let
// the relay repeat them.
//
// # Requirements
//
// PostgreSQL: wal_level=logical, a user with REPLICATION, and a replication slot, which keeps
// WAL for as long as the connector is down. MySQL and MariaDB: the binary log in ROW format
// with full row images, and a Kafka topic for the schema history. The settings for MariaDB
// differ from MySQL's by the connector's class; they have not been run. Debezium 2.6 or later;
// on earlier ones snapshot.mode is "never" (PostgreSQL) or "schema_only" (MySQL), and MariaDB
// is read by the MySQL connector. SQLite has no connector.
package debezium

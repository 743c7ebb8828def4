// Package sqliteoutbox keeps an outbox in a SQLite file.
//
// SQLite has one writer at a time, so the ids of outbox_messages are in commit
// order and the relay's cursor is the last id it has finished. Transactions must
// begin IMMEDIATE (_txlock=immediate), or two that read first and write later
// fail busy in spite of the busy timeout. [Open] opens a file so.
//
//	property                                                  proven by
//	everything that package outbox promises                   TestConformance, TestConformanceWithReader
//	nothing lost, doubled or reordered under many writers,
//	rollbacks and a long reader                               TestStress
//	commits of other processes are heard within 50 ms, with
//	Config.Reader                                             TestOtherProcessesAreHeard
//	a pool and a Reader of one connection are enough; then
//	only the relay's Interval finds what others commit        TestPoolOfOneConnection, TestListenNeedsASecondConnection
//	writers of several pools of Open wait for each other      TestOpenIsForWriters
//	a pool that would fail busy, and tables that are missing,
//	are errors that say what to do                            TestImpatientPoolIsRefused, TestMissingTablesAreNamed
//	tables can have another prefix, beside others             TestNamedTables
//
// What survives a power cut is what SQLite has synced: with synchronous=NORMAL
// the last commits may be gone, and their events with them; with FULL none.
//
// Tables, where Config sets no other prefix: outbox_messages (append-only; pruned after RelayConfig.Retention),
// outbox_cursors (the relay's place and lease), outbox_retries, outbox_failed,
// outbox_settings (the number of shards). Times are microseconds since 1970.
// outbox_messages carries event_type, aggregate_type and aggregate_id for other
// readers.
//
// # The status store
//
// [NewStatus] keeps the state of each event in its row of outbox_events; partial
// indexes find what is pending, failing, published and failed.
//
//	property                                                  proven by
//	everything that package outbox promises                   TestStatusConformance, TestStatusConformanceWithReader
//	nothing lost, doubled or reordered, as above              TestStatusStress
//	state, published, published_at, retry_count, last_error
//	and next_retry_at say how an event fares                  TestStatusRows
//	commits of other processes are heard within 50 ms, with
//	StatusConfig.Reader                                       TestStatusOtherProcessesAreHeard
//
// Event ids must be UUIDs in lower case. Published rows are deleted after
// RelayConfig.Retention, failed ones only by you.
//
// Tables: outbox_events, outbox_event_leases, outbox_event_settings.
package sqliteoutbox

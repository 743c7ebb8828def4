// Package sqliteoutbox keeps an outbox in a SQLite file.
//
//	db, err := sqliteoutbox.Open("app.db")
//	store, err := sqliteoutbox.New(db, sqliteoutbox.Config{}) // or with Status, see below
//	err = store.Migrate(ctx)                                  // once
//	box, err := outbox.New(store, outbox.Config{Topic: "order.events"})
//	relay, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{})
//
// SQLite has one writer at a time, so the ids of outbox_messages are in commit order and the
// relay's cursor is the last finished id. Transactions must begin IMMEDIATE
// (_txlock=immediate); otherwise two transactions that read first and write later fail busy in
// spite of the busy timeout. [Open] opens a file in this way.
//
//	property                                                  proven by
//	all guarantees of package outbox                          TestConformance, TestConformanceWithReader
//	nothing lost, doubled or reordered under many writers,
//	rollbacks and a long reader                               TestStress
//	commits of other processes are found within 50 ms, with
//	Config.Reader                                             TestOtherProcessesAreHeard
//	a pool and a Reader of one connection are enough; then
//	only the relay's Interval finds their commits             TestPoolOfOneConnection, TestListenNeedsASecondConnection
//	writers of several pools of Open wait for each other      TestOpenIsForWriters
//	a pool of OpenReader sees commits, cannot write, and
//	does not wait for a writer                                TestOpenReader
//	a pool that would fail busy, and missing tables, are
//	errors that say how to fix them                           TestImpatientPoolIsRefused, TestMissingTablesAreNamed
//	tables can have another prefix, beside others             TestNamedTables
//
// After a power cut, only the commits that SQLite has synced exist: with synchronous=NORMAL the
// last commits may be lost, and their events with them; with FULL none are lost.
//
// Tables, if Config sets no other prefix: outbox_messages (append-only; pruned after
// RelayConfig.Retention), outbox_cursors (the relay's position and lease), outbox_retries,
// outbox_failed, outbox_settings (the number of shards). Times are microseconds since 1970.
// outbox_messages has event_type, aggregate_type and aggregate_id for other readers.
//
// # The status store
//
// With Config.Status, the store keeps the state of each event in its row of outbox_events;
// partial indexes find pending, failing, published and failed events.
//
//	property                                                  proven by
//	all guarantees of package outbox                          TestStatusConformance, TestStatusConformanceWithReader
//	nothing lost, doubled or reordered, as above              TestStatusStress
//	state, published, published_at, retry_count, last_error
//	and next_retry_at show the state of an event              TestStatusRows
//	commits of other processes are found within 50 ms, with
//	Config.Reader                                             TestStatusOtherProcessesAreHeard
//
// Event ids must be UUIDs in lower case. Published rows are deleted after
// RelayConfig.Retention; only you delete failed rows.
//
// Tables: outbox_events, outbox_event_leases, outbox_event_settings.
package sqliteoutbox

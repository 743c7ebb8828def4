// Package pgoutbox keeps an outbox in PostgreSQL 13 or later.
//
// Transactions do not commit in the order of their ids. So a reader that asks for ids above the
// last one loses events, and a reader that waits for the oldest open transaction stalls behind
// it and still reorders an aggregate. Instead, the relay's cursor is a window between two
// snapshots: each event is in exactly one window, and windows and the ids within them are in
// commit order for every key.
//
//	property                                                  proven by
//	all guarantees of package outbox                          TestConformance
//	nothing lost, doubled or reordered under many writers,
//	rollbacks and a long transaction, which delays no event;
//	the naive reader loses events in the same run             TestStress
//	relays of other processes are woken after the commit      TestOtherProcessesAreWoken
//	an idle relay sends at most 2 statements a second         TestIdleRelayAsksRarely
//	a pool of one connection is enough; then only the
//	relay's Interval finds commits of other processes         TestPoolOfOneConnection, TestListenNeedsASecondConnection
//	behind a pooler in transaction mode too; a relay that has
//	a shard says that it is not woken, and what to set        TestListenBehindAPooler
//	after a statement_timeout, a read asks for less           TestReadEndedByTheServer
//	native pgx transactions take part                         TestPgxTransaction
//	a dump restored elsewhere is refused until it is rebased  TestRebase
//	the oldest snapshot is found with its holder              TestOldestSnapshot, TestOldestSnapshotOfAReplica
//	cursors are adopted after pg_upgrade, and only then       TestAdopt
//	tables can be in another schema and under another
//	prefix, beside others; of either store                    TestNamedTables, TestTwoPrefixes
//
// The pool must be pgx's database/sql driver. A relay that holds a shard listens on one of its
// connections; publishing holds none. In a pool of one connection this would block all other
// work, so there Listen returns driver.ErrUnsupported; and so it does behind a pooler.
//
// Tables, if Config sets no other prefix: outbox_messages (append-only; pruned after
// RelayConfig.Retention), outbox_cursors and outbox_cursors_progress (the relay's position and
// lease: the row with the greatest n of each shard), outbox_messages_pruned (the position of
// pruning), outbox_retries, outbox_failed, outbox_settings (the number of shards).
// outbox_messages has event_type, aggregate_type and aggregate_id for change-data-capture
// readers.
//
// # The status store
//
// With Config.Status, the store keeps the state of each event in its row of outbox_events.
//
//	property                                                  proven by
//	all guarantees of package outbox                          TestStatusConformance, TestStatusManyRelays
//	nothing lost, doubled or reordered, as above              TestStatusStress, TestStatusLateCommit
//	state, published, published_at, retry_count, last_error
//	and next_retry_at show the state of an event              TestStatusRows
//	marking an event touches no index                         TestStatusMarksTouchNoIndex
//	no statement scans or sorts the table                     TestStatusPlans
//	relays of other processes are woken after the commit      TestStatusOtherProcessesAreWoken
//	a row set back by hand is published again                 TestStatusByHand
//	cursors are adopted after pg_upgrade, and only then       TestAdopt
//	a session that holds its snapshot slows nothing down      TestStatusSettlesBesideAHeldSnapshot, TestStatusProgressIsSwept
//	pruning reads only the rows that it deletes               TestStatusPruneReadsWhatItDeletes
//	leases of two servers are told apart                      TestStatusTokensOfTwoServersDiffer
//	an older schema is migrated                               TestStatusMigrationCarriesLeasesOver
//	a restored dump is refused until it is rebased            TestStatusRebase, TestStatusRowsAhead
//	a read position ends with its server                      TestStatusReadOnAnotherServer
//	a read position ends with a crash of its server           TestStatusLeaseEndsWithTheServer, TestPositionsEndWithTheServer (package faulttest)
//
// Two designs make a table slow as a queue. An index on pending rows has to be changed by every
// mark, and fills with dead entries while any transaction of the server is old. A query for the
// first pending row of each key collapses when few keys have many events. This store has
// neither. A relay takes a lease with a token for a shard, which is all keys with the same
// hash; it reads in windows between two snapshots, as the cursor store does; and it marks a
// batch in the statement that extends the lease, by updates that PostgreSQL keeps on the row's
// own page. Measured with 500-byte events, in microseconds per row: 4 for such a mark, 8 with
// an index on pending rows, 12 when the page has no room, 2 for a DELETE. BenchmarkStatusDrain
// compares it with a SKIP LOCKED relay that deletes, in one run.
//
// The price is space: pages are filled to 45 %. The position in outbox_event_progress only
// saves a new relay from reading published rows that are kept; the rows' state alone decides
// which rows are pending. So setting a row back to PENDING by hand also needs a new place in the
// order:
//
//	UPDATE outbox_events SET state = 'PENDING', published = false, published_at = NULL,
//		seq = DEFAULT, xid = DEFAULT WHERE id = '…'
//
// Event ids must be UUIDs in lower case. An id can occur twice, because one event may go to two
// topics. Published rows are deleted after RelayConfig.Retention, in the order of seq and not
// beyond a pending row. Only you delete failed rows, with DELETE: a row that is set to
// PUBLISHED by hand stays.
//
// Tables: outbox_events, outbox_event_progress (the relay's position and lease: the row with
// the greatest n of each shard), outbox_events_pruned (the position of pruning),
// outbox_event_settings.
package pgoutbox

// Package pgoutbox keeps an outbox in PostgreSQL 13 or later.
//
// Transactions do not commit in the order of their ids, so a reader that asks
// for ids above the last one loses events, and one that waits for the oldest
// open transaction stalls behind it and still reorders an aggregate. The relay's
// cursor is a window between two snapshots instead: each event lies in exactly
// one window, and windows and the ids within them are in commit order for every
// key.
//
//	property                                                  proven by
//	everything that package outbox promises                   TestConformance
//	nothing lost, doubled or reordered under many writers,
//	rollbacks and a long transaction, which delays nobody;
//	the naive reader loses events in the same run             TestStress
//	relays of other processes are woken after the commit      TestOtherProcessesAreWoken
//	an idle relay sends at most 2 statements a second         TestIdleRelayAsksRarely
//	a pool of one connection is enough; then only the
//	relay's Interval finds what other processes commit        TestPoolOfOneConnection, TestListenNeedsASecondConnection
//	a read that statement_timeout ends asks for less          TestReadEndedByTheServer
//	native pgx transactions take part                         TestPgxTransaction
//	a dump restored elsewhere is refused until it is rebased  TestRebase
//	the oldest snapshot is told with its holder               TestOldestSnapshot, TestOldestSnapshotOfAReplica
//	cursors are adopted after pg_upgrade, and only then       TestAdopt
//	tables can be in another schema and under another
//	prefix, beside others; of either store                    TestNamedTables, TestTwoPrefixes
//
// The pool must be pgx's database/sql driver. A relay that listens keeps one of
// its connections; publishing keeps none. In a pool of one connection nothing else
// could be done beside it, so there Listen returns outbox.ErrUnsupported.
//
// Tables, where Config sets no other prefix: outbox_messages (append-only; pruned after RelayConfig.Retention),
// outbox_cursors and outbox_cursors_progress (the relay's place and lease: the row
// with the greatest n of each shard), outbox_messages_pruned (how far pruning came),
// outbox_retries, outbox_failed, outbox_settings (the number of shards). outbox_messages carries event_type,
// aggregate_type and aggregate_id for change-data-capture readers.
//
// # The status store
//
// [NewStatus] keeps the state of each event in its row of outbox_events.
//
//	property                                                  proven by
//	everything that package outbox promises                   TestStatusConformance, TestStatusManyRelays
//	nothing lost, doubled or reordered, as above              TestStatusStress, TestStatusLateCommit
//	state, published, published_at, retry_count, last_error
//	and next_retry_at say how an event fares                  TestStatusRows
//	marking an event touches no index                         TestStatusMarksTouchNoIndex
//	no statement scans or sorts the table                     TestStatusPlans
//	relays of other processes are woken after the commit      TestStatusOtherProcessesAreWoken
//	a row set back by hand is published again                 TestStatusByHand
//	a restored dump is refused until it is rebased            TestStatusRebase
//	cursors are adopted after pg_upgrade, and only then       TestAdopt
//	a session that keeps its snapshot slows nothing down      TestStatusSettlesBesideAHeldSnapshot, TestStatusProgressIsSwept
//	pruning reads what it deletes                             TestStatusPruneReadsWhatItDeletes
//	leases of two servers are told apart                      TestStatusTokensOfTwoServersDiffer
//	an older schema is carried over                           TestStatusMigrationCarriesLeasesOver
//	a restored dump is refused until it is rebased            TestStatusRebase, TestStatusRowsAhead
//	what was read ends with its server                        TestStatusReadOnAnotherServer
//	what was read ends with a server that crashes             TestStatusLeaseEndsWithTheServer, TestPositionsEndWithTheServer (package faulttest)
//
// Two things slow a table down that is a queue: an index on what is pending, which
// every mark must change and which fills with dead entries while any transaction
// of the server is old; and a look for the first pending row of each key, which
// collapses when few keys have many events. Here is neither. A relay claims a
// shard, all keys with the same hash, by a lease with a token; it reads in windows
// between two snapshots, as the cursor store does; and it marks a batch in the
// statement that extends the lease, by updates that PostgreSQL keeps on the row's
// own page. Measured, 500-byte events, microseconds per row: 4 for such a mark, 8
// with an index on pending rows, 12 where the page has no room, 2 for a DELETE. BenchmarkStatusDrain compares
// with a SKIP LOCKED relay that deletes, in one run.
//
// The price is room: pages are filled to 45 %. The position in
// outbox_event_progress only spares a new relay the look at rows that are kept; what
// is published is decided by the rows' state. So setting a row back to PENDING by
// hand needs a new place in the order, too:
//
//	UPDATE outbox_events SET state = 'PENDING', published = false, published_at = NULL,
//		seq = DEFAULT, xid = DEFAULT WHERE id = '…'
//
// Event ids must be UUIDs in lower case. An id may be there twice, because one
// event may go to two topics. Published rows are deleted after
// RelayConfig.Retention, in the order of seq and not beyond one that is still pending;
// failed ones only by you, with DELETE: one that is set to PUBLISHED by hand stays.
//
// Tables: outbox_events, outbox_event_progress (the relay's place and lease: the row
// with the greatest n of each shard), outbox_events_pruned (how far pruning came),
// outbox_event_settings.
package pgoutbox

// Package mysqloutbox keeps an outbox in MySQL or in MariaDB. It is tested on MySQL 9.7 and
// MariaDB 10.11, and needs features of MySQL 8.0.13 and MariaDB 10.6.
//
//	store, err := mysqloutbox.New(db, mysqloutbox.Config{}) // or with Status, see below
//	err = store.Migrate(ctx)                                // once
//	box, err := outbox.New(store, outbox.Config{Topic: "order.events"})
//	relay, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{})
//
// Transactions do not commit in the order of their ids, so a reader that asks for ids above the
// last one loses events. MySQL has no snapshots that a cursor could remember, and a reader that
// locks its rows blocks the application's inserts. In this store an event gets its position in
// the order after its commit: the relay finds committed events by reads without locks, and
// assigns positions by primary key. Its cursor is the last published position.
//
//	property                                                  proven by
//	all guarantees of package outbox                          TestConformance
//	nothing lost, doubled or reordered under many writers,
//	rollbacks and a long transaction, which delays no event;
//	the naive reader loses events in the same run             TestStress
//	commits of other processes wake the relay                 TestOtherProcessesAreHeard
//	the oldest transaction is found with its holder           TestOldestSnapshot, TestOldestSnapshotHidden
//	a pool of one connection is enough                        TestPoolOfOneConnection
//	a read that max_execution_time (MySQL) or
//	max_statement_time (MariaDB) ends asks for less           TestReadEndedByTheServer
//	after a failover to a replica that lags, or a crash that
//	loses commits, the remaining events are published         TestFailoverToALaggingReplica,
//	                                                          TestCrashThatLosesCommits (package mysqllog)
//	any pool of the driver will do                            TestPlainPool
//	the schema can be printed and run by hand                 TestPrintedMigrations
//	tables can be in another database and under another
//	prefix, beside others; of either store                    TestNamedTables, TestTwoPrefixes
//
// There is nothing like LISTEN: a commit wakes the relays of its own process; those of other
// processes look every 2 to 100 ms (Config.Poll).
//
// Any isolation level will do, but appending is fastest and waits least at READ COMMITTED.
// Useful parameters of the driver: interpolateParams=true saves a round trip per statement;
// clientFoundRows and parseTime are not needed. One Append takes up to 7,281 events, each
// smaller than the server's max_allowed_packet; keys, aggregate types and ids have up to 1,000
// characters, topics and event ids 255. A replica with readers or a binary log needs the format
// ROW (the default of MySQL) or MIXED (that of MariaDB).
//
// A relay's lease ends with its server, identified by server id, host and port: servers that
// replicate from each other have different ids. Do not put a proxy that sends reads to replicas
// between a relay and the server.
//
// Tables, if Config sets no other prefix: outbox_messages (append-only but for its column seq,
// the position; pruned after RelayConfig.Retention), outbox_messages_lanes (the next position per
// shard), outbox_cursors (the relay's position and lease), outbox_retries, outbox_failed,
// outbox_settings (the number of shards). Times are UTC. outbox_messages has event_type,
// aggregate_type and aggregate_id for change-data-capture readers. They see an insert of each
// row and, if a relay also runs, one update.
//
// # The status store
//
// With Config.Status, the store keeps the state of each event in its row of outbox_events. It is
// also a driver.Listener, Snapshotter and Preferrer.
//
// Transactions do not commit in the order of their rows' numbers. A relay reads the rows behind
// the last one that it has read, and then looks for pending rows before it that are not in
// flight: those were committed late. A later event of a key is appended after the earlier one
// has committed, so a read that finds the later one finds the earlier one too. Reads take no
// locks, and rows are marked by primary key, so no append waits.
//
//	property                                                  proven by
//	all guarantees of package outbox                          TestStatusConformance
//	nothing lost, doubled or reordered under many writers,
//	rollbacks and a long transaction, which delays no event   TestStatusStress, TestStatusLateCommit
//	state, published, published_at, retry_count, last_error
//	and next_retry_at show the state of an event              TestStatusRows
//	marking and pruning do not wait for appends               TestStatusWaitsForNobody
//	any pool will do                                          TestStatusPlainPool
//	keys are compared byte by byte                            TestStatusKeysWithSpaces
//	commits of other processes wake the relay                 TestStatusOtherProcessesAreHeard
//	a failover ends the lease                                 TestStatusLeaseEndsWithTheServer
//	only the events that were read are marked                 TestStatusMarksByID
//
// A transaction that holds an old snapshot for hours keeps InnoDB from purging, and each look
// for late rows then reads one index entry for every event published since. Event ids must be
// UUIDs in lower case; keys, types and aggregates have up to 1000 characters, topics 255.
// Published rows are deleted after RelayConfig.Retention; only you delete failed rows.
//
// Tables: outbox_events, outbox_event_leases, outbox_event_settings.
package mysqloutbox

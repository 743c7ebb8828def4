// Package mysqlbus is the transport mysql://…: topics and consumer groups in MySQL or MariaDB,
// for teams that have one and do not want a broker yet. It is tested on MySQL 9.7 and MariaDB
// 10.11, and needs features of MySQL 8.0.13 and MariaDB 10.6.
//
//	b, err := bus.Open(ctx, "mysql://app:secret@db.internal:3306/app", mysqlbus.Scheme(mysqlbus.Config{DB: db}))
//
// Parameters of the URL:
//
//	partitions=3     of a topic that is used before it is declared
//	retention=72h    how long messages are kept that every group has acknowledged
//	poll=100ms       how often an idle process looks for messages of others
//	mode=log         or tx, see below
//
// These parameters are passed on to the connection: compress, connectionAttributes, innodb_lock_wait_timeout, lock_wait_timeout,
// maxAllowedPacket, readTimeout, timeout, tls, tls-ca, tls-cert, tls-key, writeTimeout.
//
// # Two modes
//
// mode=log, the default, uses an append-only log. Its rows get their position in the reading
// order after their transaction has committed, and are read behind leased cursors: keys in
// parallel, no open transaction while a handler works. Handlers make their effects idempotent,
// for instance with package idempotency.
//
// mode=tx is Watermill SQL v3's own publisher and subscriber. The offset of a message is part of
// the transaction in which its handler works: if a handler writes only this database, and only
// in that transaction, its effect is exactly once.
//
//	                                      mode=log            mode=tx
//	a group works on                      many keys at once   one message, over all instances
//	a handler's effect in this database   at least once       exactly once
//	a connection is held                  never               while a handler works, retries and pauses included
//	retention                             yes                 no: delete old rows yourself
//	wake-up                               at once in the      polls every 5 to 200 ms (poll)
//	                                      process, else 5 to 100 ms (poll)
//
// Choose mode=tx for groups whose handler only writes this database, at a few hundred messages a
// second at most. Choose the log for all others, and wherever a slow handler must not delay the
// rest.
//
// Watermill SQL's default adapters for MySQL permanently skip messages under concurrent writers,
// since ids are assigned before transactions commit. mode=tx does not use them: its adapters
// read by an additional column, position, which is set after the message's transaction has
// committed. Watermill SQL's own publishers and subscribers can still use the tables
// watermill_<topic>; they ignore the column, and its subscribers still skip messages. Offsets
// are in wm_offsets_<topic>, because they are positions, and wm_positions has the last position
// of each topic. Payloads are of type longblob instead of json.
//
// In mode=tx the offset is part of a transaction that the message carries. In the handlers of a
// Runner, sqltx.Do on Config.DB joins that transaction and passes it to its function;
// watermill-sql's TxFromContext finds it in any handler. A Runner wraps each run of a handler in
// a savepoint, so that a retry starts without the writes of the failed run. If you use
// Bus.Subscriber with a Router of your own, wrap your handlers in the driver's WrapHandler. A
// handler of a bus.BatchConsumer has no transaction.
//
// # Guarantees
//
//	property                                                      proven by
//	the conformance suites, Watermill's and bustest's             TestConformance, TestConformanceTx
//	16 writers, up to 2,000/s, with open transactions: nothing
//	lost or repeated, each key in the order of its commits        TestConcurrentWriters
//	  (and Watermill SQL's own adapters lose there)               TestWatermillsOwnAdaptersLose
//	Publish inside a transaction belongs to it, if it is one of
//	Config.DB on the same database                                TestTransactions, TestOtherDatabase
//	killed consumers lose nothing and skip nothing                TestKilledConsumers
//	a restarted process with a Holder resumes at once             TestHolder
//	two live processes with one Holder lose nothing               TestSharedHolder
//	another process's messages arrive within about 50 ms, also
//	those that a third process has already read                   TestOtherProcessWakes, TestWatcher
//	mode=tx: an effect exactly once, in spite of failures         TestTxExactlyOnce, TestTxCloseRollsBack, TestTxPoison
//	mode=tx: sqltx finds the transaction, hooks run after it      TestTxHandlers
//	mode=tx: a group is serial over its instances                 TestTxSerialGroups
//	mode=tx: an instance can start while handlers work            TestTxSecondInstance
//	mode=tx: 16 writers lose nothing, also where a snapshot
//	shows a later commit and hides an earlier one                 TestTxConcurrentWriters, TestPositionsUnderConcurrentWriters,
//	                                                              mysqllog: TestSure; TestReadStopsAtWhatIsKnown
//	mode=tx: Watermill SQL reads and writes the same tables       TestTxWatermill, TestTxTakesOverWatermillsTable
//	mode=tx: metadata that is not readable stops no group         TestTxPoison
//	mode=tx: names that cannot name a table are refused, groups
//	with names that a collation can confuse are not confused      TestTxNames, TestTxGroupsAsText
//	errors name the mistake in a URL, without its password        TestURLErrors
//	TLS works, and errors name the mistake                        TestTLS
//	pending messages are shown without taking them                TestPending
//	errors have a class and a sentinel                            TestErrorClasses
//	the schema can be printed                                     TestPrintMigrations
//
// Durable, ordered per key, consumer groups, replay, broadcast. Delayed redelivery and dead
// letters are provided by package bus.
//
// # Polling
//
// MySQL has no notifications of commits. A process with readers polls with one query for all of
// its partitions, by indexes and without a lock: every 5 ms while messages arrive, then less and
// less often down to poll. A process without readers does not poll. Its own messages wake a
// process's readers without a query.
//
// # Connections
//
// The bus has a pool of its own (16 connections at most), so that the application's use of its
// connections cannot prevent the renewal of leases. In mode=tx messages are delivered in
// transactions of Config.DB, or of a second pool: one connection for each consumer at work.
//
// # Tables
//
// bus_messages (append-only), bus_messages_lanes, bus_cursors (one row per group and partition),
// bus_topics, bus_turn, bus_members and bus_starts. The first use migrates them;
// `millrace migrate print` shows them. Deleting rows of bus_messages by hand is safe; deleting a row of
// bus_cursors makes its group start again at the earliest message. A group that no longer exists
// prevents its messages from being pruned: delete its rows of bus_cursors.
//
// # Failure modes
//
// A killed process keeps its partitions for LeaseTTL (10 s), unless it has a Holder and restarts
// earlier. While the database is absent, from the start or later, Publish fails with an
// infrastructure error, and readers retry with growing pauses up to 2 s.
//
// In mode=tx a handler that loses its transaction (a conflict with another one, a broken
// connection, a statement cancelled by its context) gets its message again in a new one, and the
// lost run is not counted: a handler that loses its transaction every time never ends in a dead
// letter.
package mysqlbus

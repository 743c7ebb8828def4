// Package pgbus is the transport postgres://…: topics and consumer groups in
// PostgreSQL 13+, for teams that have one and do not want a broker yet.
//
//	o := bus.NewOpener(pgbus.Schemes(pgbus.Config{DB: db})...)
//	b, err := o.Open(ctx, "postgres://app:secret@db.internal:5432/app")
//
// Parameters of the URL, beside those of the connection ([Parameters]):
//
//	partitions=3     of a topic that is used before it is declared
//	retention=72h    how long messages are kept that every group has passed
//	poll=1s          how often an idle partition is looked at without a notification
//	mode=log         or tx, see below
//
// # Two modes
//
// mode=log, the default, stands on an append-only log that is read in windows
// between two snapshots, behind leased cursors: keys in parallel, nothing open
// while a handler works. Handlers make their effects idempotent, with package
// idempotency for one.
//
// mode=tx is Watermill SQL v3's own publisher and subscriber: the offset of a
// message is part of the transaction that its handler works in, so a handler
// that writes this database, and only through that transaction, needs nothing
// else to be exactly once.
//
//	                                      mode=log            mode=tx
//	a group works on                      many keys at once   one message, over all instances
//	a handler's effect in this database   at least once       exactly once
//	a connection is held                  never               while a handler works, retries and pauses included
//	retention                             yes                 no: delete old rows yourself
//	wake-up                               notification        looks every 5 to 200 ms (poll)
//
// Choose mode=tx for groups whose handler does nothing but write this database,
// at a few hundred messages a second at most. Choose the log for all others, and
// wherever one slow handler must not hold up the rest.
//
// Watermill SQL's default adapters for PostgreSQL sort the backlog for every
// read, stall behind any open write transaction, that of another group's handler
// included, and can reorder a key. mode=tx does not use them: its adapters read by
// a column more, position, which messages get after their transaction has
// committed. Watermill SQL's own publishers and subscribers can use the tables
// watermill_<topic> all the same and do not notice the column. Offsets are in
// wm_offsets_<topic>, because they are positions, and wm_positions has the last
// position of each topic. Payloads are of type bytea instead of json.
//
// In mode=tx the offset is part of a transaction that the message brings along. In the
// handlers of a Runner sqltx.Do on Config.DB joins that transaction and hands it to
// its function; watermill-sql's TxFromContext finds it everywhere. A Runner wraps each run of a handler in a savepoint,
// so that a retry begins with nothing of the failed run; whoever uses
// Bus.Subscriber with a Router of their own puts the driver's WrapHandler around
// their handlers. A handler of a bus.BatchConsumer has no transaction.
//
// # Guarantees
//
//	property                                                      proven by
//	the conformance suites, Watermill's and bustest's             TestConformance, TestConformanceTx
//	reading does not slow with the backlog                        TestBacklogDoesNotSlowReading
//	an open transaction of others delays nobody (and stalls
//	Watermill SQL's own adapters)                                 TestOpenTransactionDelaysNobody,
//	                                                              TestTxOpenTransactionDelaysNobody
//	16 writers with open transactions: nothing lost or repeated,
//	each key in the order of its commits                          TestConcurrentWriters
//	Publish inside a transaction belongs to it, if it is one of
//	Config.DB on the same database and schema                     TestTransactions, TestOtherDatabase
//	killed consumers lose nothing and skip nothing                TestKilledConsumers
//	a restarted process with a Holder goes on at once             TestHolder
//	two live processes with one Holder lose nothing               TestSharedHolder
//	a process of an older release holds no partition up           TestMembersOfTheReleaseBefore, TestRollingUpgrade
//	another process's messages arrive within about 10 ms          TestOtherProcessWakes
//	one notification a tick and process, not one a message        TestNotificationsAreFew, TestNotices
//	mode=tx: an effect exactly once, whatever fails               TestTxExactlyOnce, TestTxCloseRollsBack, TestTxPoison
//	mode=tx: sqltx finds the transaction, hooks run after it      TestTxHandlers
//	mode=tx: a group is serial over its instances                 TestTxSerialGroups
//	mode=tx: 16 writers lose nothing                              TestTxConcurrentWriters
//	mode=tx: Watermill SQL reads and writes the same tables       TestTxWatermill, TestTxTakesOverWatermillsTable
//	mode=tx: names that make no table are refused                 TestTxNames
//	what is wrong with a URL is said, without its password        TestURLErrors
//	TLS works, and what is wrong with it is said                  TestTLS
//	what is pending is shown without taking it                    TestPending
//	errors have a class and a sentinel                            TestErrorClasses
//	the schema can be printed                                     TestPrintMigrations
//
// Durable, ordered per key, consumer groups, replay, broadcast. No delayed
// redelivery and no dead letters of its own: package bus does both.
//
// # Connections
//
// The bus has a pool of its own (16 connections at most, one of which listens),
// so that nothing the application does with its connections keeps leases from
// being renewed. In mode=tx messages come in transactions of Config.DB, or of a
// second pool: one connection for each consumer at work.
//
// # Tables
//
// bus_messages (append-only), bus_cursors (one row per group and partition),
// bus_cursors_progress (where each stands: its row with the greatest n),
// bus_messages_pruned, bus_topics, bus_members and bus_starts, in the first schema of the
// search_path. The first use brings them up to date; [PrintMigrations] shows them. Deleting rows of
// bus_messages by hand is safe; deleting a row of bus_cursors makes its group
// start again at the earliest message. A group that no longer exists keeps its
// messages from being pruned: delete its rows of bus_cursors.
//
// # Failure modes
//
// A process that is killed keeps its partitions for LeaseTTL (10 s), unless it
// has a Holder and comes back before. While the database is away, from the
// beginning or later, Publish fails
// with an infrastructure error, and readers try again with growing pauses up to
// 2 s. Notifications that are lost with a connection cost up to poll.
//
// After a dump was restored on another server, cursors are refused until they
// are rebased, since their snapshots mean nothing there; a physical restore
// needs nothing.
//
// In mode=tx a handler whose transaction is lost (a broken connection, a
// statement that was cancelled by its context) has its message again in a new
// one, and that run is not counted: a handler that loses its transaction every
// time never ends in a dead letter.
package pgbus

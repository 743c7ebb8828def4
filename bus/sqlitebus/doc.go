// Package sqlitebus is the transport sqlite://path: topics and consumer groups
// in a SQLite file, durable, for the processes of one machine. It is the
// embedded default, because it needs no server and can live in the
// application's own file.
//
//	o := bus.NewOpener(sqlitebus.Scheme(sqlitebus.Config{}))
//	b, err := o.Open(ctx, "sqlite://data/app.db")
//
// sqlite://relative/path.db and sqlite:///absolute/path.db name the file, with
// %3F for a question mark and so on; write a relative path that begins with a
// space or another odd character as sqlite://./… . Parameters:
//
//	partitions=3        of a topic that is used before it is declared
//	retention=72h       how long messages are kept that every group has passed
//	synchronous=full    commits survive a power cut; normal is several times
//	                    faster for single messages and survives a killed process only
//
// # Guarantees
//
//	property                                                      proven by
//	the conformance suites, Watermill's and bustest's             TestConformance
//	Publish returns after the commit                              TestConformance
//	killed consumers lose nothing and skip nothing                TestKilledConsumers
//	a restarted process with a Holder goes on at once             TestHolder
//	two live processes with one Holder lose nothing               TestSharedHolder
//	a handler may write the same file in its own transaction      TestHandlerWritesTheSameFile
//	Publish inside a transaction belongs to it                    TestPublishInTransaction
//	another process's messages arrive within about 50 ms          TestOtherProcessWakes
//	a locked file delays and loses nothing                        TestLockedFile
//	topics keep their partitions and never share lanes            TestPartitionsCannotChange, TestTopicsDoNotMix
//	what is pending is shown without taking it                    TestPending
//	errors have a class and a sentinel                            TestErrorClasses
//	what is wrong with a URL is said                              TestURLErrors
//	the schema can be printed                                     TestPrintMigrations
//
// Durable, ordered per key, consumer groups, replay, broadcast. No delayed
// redelivery and no dead letters of its own: package bus does both.
//
// # One file for all
//
// When the application keeps its data in the same file, give its pools in
// [Config]: then its writers and the bus queue in Go for the one write lock.
// With a pool of its own the bus still works, but SQLite makes the two poll for
// the lock.
//
// With the application's pool, a message whose context carries a transaction of
// package sqltx is published in that transaction: it appears when that commits.
// Without it, do not publish while holding a transaction on the file: the bus
// would wait for the lock that its caller holds, until the busy timeout.
//
// # Tables
//
// bus_messages (append-only), bus_cursors (one row per group and partition),
// bus_topics, bus_members and bus_starts. Open brings them up to date; [PrintMigrations]
// shows them. Deleting rows of bus_messages by hand is safe; deleting a row of
// bus_cursors makes its group start again at the earliest message.
//
// A group that no longer exists keeps its messages from being pruned: delete
// its rows of bus_cursors.
//
// # Failure modes
//
// A process that is killed keeps its partitions for LeaseTTL (10 s), unless it
// has a Holder and comes back before. A write
// transaction of another process that is longer than the busy timeout (10 s)
// makes Publish fail with an infrastructure error; consumers wait and go on. A
// full disk does the same. A network file system does not keep SQLite's locks
// and is not supported.
//
// Ids are those of the file: after a restored backup, groups go on from where
// the backup stood.
package sqlitebus

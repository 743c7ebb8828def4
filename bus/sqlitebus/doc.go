// Package sqlitebus is the transport sqlite://path: topics and consumer groups in a SQLite file,
// durable, for the processes of one machine. It is the embedded default, because it needs no
// server and can use the application's own file.
//
//	b, err := bus.Open(ctx, "sqlite://data/app.db", sqlitebus.Scheme(sqlitebus.Config{}))
//
// sqlite://relative/path.db and sqlite:///absolute/path.db name the file, with %3F for a
// question mark and so on; write a relative path that begins with a space or another unusual
// character as sqlite://./… . Parameters:
//
//	partitions=3        of a topic that is used before it is declared
//	retention=72h       how long messages are kept that every group has acknowledged
//	synchronous=full    commits survive a power cut; normal is several times
//	                    faster for single messages and survives a killed process only
//
// # Guarantees
//
//	property                                                      proven by
//	the conformance suites, Watermill's and bustest's             TestConformance
//	Publish returns after the commit                              TestConformance
//	killed consumers lose nothing and skip nothing                TestKilledConsumers
//	a restarted process with a Holder resumes at once             TestHolder
//	two live processes with one Holder lose nothing               TestSharedHolder
//	a handler may write the same file in its own transaction      TestHandlerWritesTheSameFile
//	Publish inside a transaction belongs to it                    TestPublishInTransaction
//	another process's messages arrive within about 50 ms          TestOtherProcessWakes
//	a locked file delays messages and loses none                  TestLockedFile
//	topics keep their partitions and never share lanes            TestPartitionsCannotChange, TestTopicsDoNotMix
//	pending messages are shown without taking them                TestPending
//	errors have a class and a sentinel                            TestErrorClasses
//	errors name the mistake in a URL                              TestURLErrors
//	the schema can be printed                                     TestPrintMigrations
//
// Durable, ordered per key, consumer groups, replay, broadcast. Delayed redelivery and dead
// letters are provided by package bus.
//
// # One file for everything
//
// When the application keeps its data in the same file, set its pools in [Config]: then its
// writers and the bus queue in Go for the one write lock. With a pool of its own the bus still
// works, but SQLite makes both poll for the lock.
//
// With the application's pool, a message whose context carries a transaction of package sqltx is
// published in that transaction, and appears when it commits. Without that pool, do not publish
// while you hold a transaction on the file: the bus would wait, until the busy timeout, for the
// lock that its caller holds.
//
// # Tables
//
// bus_messages (append-only), bus_cursors (one row per group and partition), bus_topics,
// bus_members and bus_starts. Open migrates them; `millrace migrate print` shows them. Deleting rows of
// bus_messages by hand is safe; deleting a row of bus_cursors makes its group start again at the
// earliest message.
//
// A group that no longer exists prevents its messages from being pruned: delete its rows of
// bus_cursors.
//
// # Failure modes
//
// A killed process keeps its partitions for LeaseTTL (10 s), unless it has a Holder and restarts
// earlier. If a write transaction of another process takes longer than the busy timeout (10 s),
// Publish fails with an infrastructure error; consumers wait and resume. A full disk has the
// same effect. Network file systems do not implement SQLite's locks and are not supported.
//
// Positions belong to the file: after a backup is restored, groups resume at the positions of
// the backup.
package sqlitebus

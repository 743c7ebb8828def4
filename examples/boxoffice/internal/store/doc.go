// Package store opens the box office's database: the pools, the migrations, the first shows
// and seats, and the parts that the whole business shares: SQL kept in files, transactions,
// the leases of singletons and the audit trail of consumers.
//
//	property                                                        proven by
//	writers that come together share one commit                     TestWritersShareACommit
//	a failing writer undoes its own work only                       TestFailingWriterIsAlone
//	a failing nested transaction fails no other writer's            TestDoomedWriterIsAlone
//	hooks run for the writers that have committed, and no others    TestHooksOfWritersThatShareACommit
//	a writer cancelled while it waits writes nothing                TestCancelledWriter
//	one holder of a lease at a time, and a late one is fenced off   TestLease
//	due work is done by one process, after any failure              TestJob
//	… and waits while others have locked it                         TestJobWithoutProgress
//	an operator's setting of a waiting room is kept with those
//	before it, and follows the last one                             TestRoomSettings, TestRoomSettingsOnServers
//	one process per data folder with embedded defaults              TestFolderLock
//	opening twice changes nothing                                   TestOpenTwice
//	a show has its dates, performers and classes of seats, counted
//	from the first start; a later start changes none                TestSeedBillsShows, TestSeedBillsOnce
//
// # Writing
//
// SQLite has one writer, and each commit waits for the disk. [Store.Write]
// therefore runs the writers that arrive during a commit in one
// transaction, in order of arrival, each behind a savepoint of its own (package
// batch). A writer that is alone does not wait. A function given to Write may run more than
// once, so it must set its results again each time and touch nothing but the transaction.
//
// # Two databases
//
// The SQL is written for PostgreSQL and SQLite alike: numbered parameters,
// times as Unix milliseconds from now_ms(), row locks where PostgreSQL needs
// them. dialect.go holds everything that differs.
//
// # Failure modes
//
// A full or broken disk fails every write with an infrastructure error
// ([Store.Classify]); consumers pause and the API answers 503. A network file
// system does not keep SQLite's locks and must not hold the data folder.
package store

// Package sqlitedb opens SQLite files with the settings that are safe for a durable log with
// many goroutines: WAL, a busy timeout, immediate transactions and foreign keys. It links
// modernc.org/sqlite, which needs no C compiler.
//
// Use one writer pool ([Open]) and one reader pool ([OpenReader]) per file. The
// writer pool has a single connection, so writers of one process queue in Go
// instead of failing busy; the readers see committed data without waiting for
// the writer.
//
//	property                                                  proven by
//	a commit survives a power cut (Synchronous: Full)         TestPragmas
//	transactions begin IMMEDIATE: no busy error on upgrade    TestWritersOfTwoPoolsQueue
//	readers do not wait for an open write transaction         TestReaderBesideWriter
//	a reader pool cannot write                                TestReaderCannotWrite
//	any path works: spaces, ?, #, %, relative                 TestOddPaths
//	an unusable folder or file is a clear error               TestOpenErrors
//	a new file is for this user alone (0600)                  TestFileMode
//	driver errors have a class                                TestClassify
//	statements are cached as long as they are valid           TestOneTextTwiceAtOnce, TestStatementsOutliveChanges,
//	                                                          TestManyStatements
//
// Failure modes: if another process holds the write lock for longer than BusyTimeout, writes
// fail with a transient error; such a wait does not end early with its context, while the wait
// for the pool's own connection does. With Synchronous Normal a power cut can undo the last
// commits, but never corrupts the file. Network file systems do not implement SQLite's locks and
// are not supported.
package sqlitedb

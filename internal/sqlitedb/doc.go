// Package sqlitedb opens SQLite files the one way that is safe for a durable
// log with many goroutines: WAL, a busy timeout, immediate transactions and
// foreign keys. It links modernc.org/sqlite, which needs no C compiler.
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
//	a folder or file that cannot be used is a clear error     TestOpenErrors
//	a new file is for this user alone (0600)                  TestFileMode
//	driver errors have a class                                TestClassify
//	what was parsed is kept, for as long as it is right       TestOneTextTwiceAtOnce, TestStatementsOutliveChanges,
//	                                                          TestManyStatements
//
// Failure modes: another process that holds the write lock for longer than
// BusyTimeout makes writes fail with a transient error; such a wait does not
// end early with its context, while the wait for the pool's own connection
// does. With Synchronous Normal a power cut can undo the last commits, but
// never corrupts the file. A network file system does not keep SQLite's locks
// and is not supported.
package sqlitedb

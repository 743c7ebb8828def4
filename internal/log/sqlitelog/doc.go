// Package sqlitelog is the append-only log of package log in a SQLite file.
//
// SQLite has one writer at a time. An id is handed out while its transaction
// holds the write lock, and AUTOINCREMENT never hands one out twice, so the
// order of ids is the order of commits: a cursor is one id per lane, and the
// reader asks for what is greater.
//
//	property                                             proven by
//	the conformance suite of every log                   TestConformance
//	one connection for everything does not deadlock      TestWithoutReader
//	many entries, or very many, keep their order         TestAppendMany
//	reading waits for no writer                          TestReadBesideWriter
//	a standby asks for a lease without writing           TestStandbyDoesNotWrite
//	a copied file goes on where its cursors stand        TestCopyGoesOn
//	Watch reports other connections' commits             TestWatch
//	a change while Watch was away is reported            TestWatchReconnects
//
// Time is the database's: unixepoch('subsec') has milliseconds. A clock set
// back makes leases last longer and entries look younger; tokens, not clocks,
// decide who may move a cursor.
//
// Positions are ids in the same file, so they stay right in a copy or a restored
// backup, and Lease never answers log.ErrForeignDatabase. What was appended
// after the backup is gone with the file, and ids after it are handed out again.
//
// Failure modes: a transaction of another process that keeps the write lock
// beyond the pool's busy timeout makes Append, Lease and Advance fail with a
// transient error; nothing of them is kept and they can be repeated. Give the
// log a reader pool ([Log.WithReader]) where the writer pool has one connection:
// else reading waits for the application's transactions.
package sqlitelog

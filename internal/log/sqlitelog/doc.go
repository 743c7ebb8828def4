// Package sqlitelog is the append-only log of package log in a SQLite file.
//
// SQLite has one writer at a time. An id is assigned while its transaction holds the write lock,
// and AUTOINCREMENT never assigns one twice, so the order of ids is the order of commits: a
// cursor is one id per lane, and the reader selects greater ids.
//
//	property                                             proven by
//	the conformance suite of every log                   TestConformance
//	one connection for everything does not deadlock      TestWithoutReader
//	many entries, or very many, keep their order         TestAppendMany
//	reading does not wait for writers                    TestReadBesideWriter
//	a standby requests a lease without writing           TestStandbyDoesNotWrite
//	a copied file resumes where its cursors are          TestCopyGoesOn
//	Watch reports other connections' commits             TestWatch
//	a change during a reconnect of Watch is reported     TestWatchReconnects
//
// Time is the database's: unixepoch('subsec') has milliseconds. If the clock is set back, leases
// last longer and entries look younger; tokens, not clocks, decide which holder may move a
// cursor.
//
// Positions are ids in the same file, so they stay valid in a copy or a restored backup, and
// Lease never returns log.ErrForeignDatabase. Entries appended after the backup are lost with
// the file, and ids after it are assigned again.
//
// Failure modes: if a transaction of another process keeps the write lock beyond the pool's busy
// timeout, Append, Lease and Advance fail with a transient error; they have no effect and can be
// repeated. If the writer pool has one connection, give the log a reader pool
// ([Log.WithReader]): otherwise reading waits for the application's transactions.
package sqlitelog

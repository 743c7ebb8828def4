// Package pgdb opens PostgreSQL through database/sql on pgx, classifies its errors and lets a
// native pgx transaction be used as a *sql.Tx.
//
//	property                                                proven by
//	a bad URL is an error that shows no password            TestOpenErrors
//	server and network errors have a class                  TestClassify, TestClassifyLive
//	another library's network errors are not classified     TestClassify
//	a pgx.Tx can be used where an Execer is expected        TestTx
//	a nil pgx.Tx is not a transaction                       TestTxOfNothing
//
// Failure modes: Open does not connect, so an unreachable server shows at the
// first statement, as an infrastructure error. Behind a pooler in transaction mode
// pgx's prepared statements are lost: the URL needs default_query_exec_mode=exec.
package pgdb

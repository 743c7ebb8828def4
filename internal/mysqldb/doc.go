// Package mysqldb opens MySQL and MariaDB through database/sql, and judges
// their errors.
//
//	property                                                  proven by
//	a bad URL is an error that shows no password              TestOpenErrors
//	an unreachable server's error shows no password           TestClassifyUnreachable
//	connections read committed rows, speak UTC, compare text
//	byte by byte and refuse what does not fit its column      TestSession
//	TLS settings come with the URL                            TestTLS
//	a value over the server's packet limit is refused for
//	good, and the connection lives on                         TestPacketTooLarge
//	an update counts the rows it meets, changed or not        TestFoundRows
//	server and network errors have a class                    TestClassify, TestClassifyLive
//
// Failure modes: Open does not connect, so an unreachable server shows at the
// first statement, as an infrastructure error.
package mysqldb

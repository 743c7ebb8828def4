// Package mysqldb opens MySQL and MariaDB through database/sql, and classifies their errors.
//
//	property                                                  proven by
//	a bad URL is an error that shows no password              TestOpenErrors
//	an unreachable server's error shows no password           TestClassifyUnreachable
//	connections commit each statement, read committed rows,
//	speak UTC, compare text byte by byte and refuse values
//	that do not fit                                           TestSession
//	TLS settings come with the URL                            TestTLS
//	a value over the server's packet limit is refused
//	permanently, and the connection stays usable              TestPacketTooLarge
//	an update counts matched rows, changed or not             TestFoundRows
//	server and network errors have a class                    TestClassify, TestClassifyLive
//
// Failure modes: Open does not connect, so an unreachable server shows at the
// first statement, as an infrastructure error.
package mysqldb

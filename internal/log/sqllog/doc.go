// Package sqllog has the shared parts of logs in tables, for any database: the names of the
// tables, statements with these names, the values of rows, the transaction of a context, and the
// detection of a lost lease.
package sqllog

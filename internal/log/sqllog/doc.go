// Package sqllog is what logs in tables have in common, whichever database holds them: the
// names of the tables, statements with these names, the transaction of a context, and how a
// statement tells that a lease was lost.
package sqllog

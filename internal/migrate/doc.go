// Package migrate brings a package's tables up to date. The migrations are SQL
// files in goose's format, embedded beside the Go that uses the tables; each
// package keeps its own version table, millrace_<package>_version, so packages
// move on independently.
//
//	property                                                    proven by
//	Up applies each migration once, in order, with its version  TestUp
//	many processes may run Up at once                           TestConcurrentUp
//	a failing migration leaves nothing of itself                TestFailedMigration
//	a printed script and Up leave the same database             TestPrintEqualsUp
//
// On PostgreSQL a session advisory lock makes processes take turns; through a
// pooler in transaction mode (PgBouncer) such locks do not hold, so run
// migrations on a direct connection. On SQLite each migration is one IMMEDIATE
// transaction that checks its own version before it commits; whoever comes
// second rolls back and goes on.
//
// Failure modes: a migration marked "NO TRANSACTION" that fails half-way stays
// half applied and must be written to be repeated.
package migrate

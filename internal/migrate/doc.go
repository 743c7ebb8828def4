// Package migrate brings a package's tables up to date. The migrations are SQL
// files in goose's format, embedded beside the Go that uses the tables; each
// package keeps its own version table, millrace_<package>_version, so packages
// move on independently.
//
//	property                                                    proven by
//	Up applies each migration once, in order, with its version  TestUp
//	many processes may run Up at once                           TestConcurrentUp
//	a failing migration leaves nothing of itself, except on
//	MySQL, and can be repeated                                  TestFailedMigration, TestMySQLRepeats
//	a table of another owner is refused, by name                TestForeignTable
//	… and on MySQL the remains of a migration that was cut
//	half-way are told apart, and completed                      TestMySQLRepeats, TestCutMigration
//	a printed script and Up leave the same database             TestPrintEqualsUp
//
// On PostgreSQL a session advisory lock makes processes take turns; through a
// pooler in transaction mode (PgBouncer) such locks do not hold, so run
// migrations on a direct connection. On SQLite each migration is one IMMEDIATE
// transaction that checks its own version before it commits; whoever comes
// second rolls back and goes on.
//
// On MySQL and MariaDB a named lock of the session makes processes take turns.
// It holds on one server: where several take writes (a cluster of primaries),
// run migrations on one of them. CREATE, ALTER and DROP commit by themselves
// there, so a migration that fails half-way stays half applied; ours are written
// to be repeated (IF NOT EXISTS), and the next Up completes them. IF NOT EXISTS
// would also pass over a table of another owner; so before a migration runs, the
// tables that it makes and that are there already must have its columns.
//
// Failure modes: a migration marked "NO TRANSACTION" that fails half-way stays
// half applied and must be written to be repeated.
package migrate

// Package migrate brings a package's tables up to date. The migrations are SQL
// files embedded beside the Go that uses the tables; each package keeps its own
// version table, millrace_<package>_version, so packages move on independently.
// Files and version tables are those of the program goose: a team that runs goose
// can embed the files, and a database that goose migrated goes on.
//
//	property                                                    proven by
//	Up applies each migration once, in order, with its version  TestUp
//	many processes may run Up at once                           TestConcurrentUp
//	… beside older releases, which used goose                   TestOlderRelease
//	a database that goose migrated goes on without a step       TestGooseTable
//	a failing migration leaves nothing of itself, except on
//	MySQL, and can be repeated                                  TestFailedMigration, TestMySQLRepeats
//	a cancelled Up leaves nothing of the migration in progress  TestCancelledUp
//	a table of another owner is refused, by name                TestForeignTable
//	… and on MySQL the remains of a migration that was cut
//	half-way are told apart, and completed                      TestMySQLRepeats, TestCutMigration
//	a printed script and Up leave the same database             TestPrintEqualsUp
//	a file that the runner does not understand is refused       TestFilesAreChecked
//
// Each migration is one transaction that checks its own version under a lock. On
// PostgreSQL that is a transaction's advisory lock, which holds through a pooler
// in transaction mode (PgBouncer) too; on SQLite the transaction is IMMEDIATE.
//
// On MySQL and MariaDB a named lock of the session makes processes take turns.
// It holds on one server: where several take writes (a cluster of primaries),
// run migrations on one of them. CREATE, ALTER and DROP commit by themselves
// there, so a migration that fails half-way stays half applied; ours are written
// to be repeated (IF NOT EXISTS), and the next Up completes them. IF NOT EXISTS
// would also pass over a table of another owner; so before a migration runs, the
// tables that it makes and that are there already must have its columns.
package migrate

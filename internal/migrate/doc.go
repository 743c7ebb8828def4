// Package migrate migrates a package's tables. The migrations are SQL files embedded beside the
// Go that uses the tables; each package keeps its own version table, millrace_<package>_version,
// so packages are migrated independently. Files and version tables have the format of the
// program goose: a team that runs goose can embed the files, and a database that goose migrated
// can be continued.
//
//	property                                                    proven by
//	Up applies each migration once, in order, with its version  TestUp
//	many processes may run Up at once                           TestConcurrentUp
//	… beside older releases, which used goose                   TestOlderRelease
//	a database that goose migrated needs no further step        TestGooseTable
//	a failing migration leaves nothing of itself, except on
//	MySQL, and can be repeated                                  TestFailedMigration, TestMySQLRepeats
//	a cancelled Up leaves nothing of the migration in progress  TestCancelledUp
//	a table of another owner is refused, by name                TestForeignTable
//	… and on MySQL the remains of an interrupted migration
//	are distinguished, and completed                            TestMySQLRepeats, TestCutMigration
//	a printed script and Up leave the same database             TestPrintEqualsUp
//	a file that the runner does not understand is refused       TestFilesAreChecked
//
// Each migration is one transaction that checks its own version under a lock. On
// PostgreSQL that is a transaction's advisory lock, which holds through a pooler
// in transaction mode (PgBouncer) too; on SQLite the transaction is IMMEDIATE.
// On MySQL and MariaDB a named lock of the session serializes processes. It is valid on one
// server: where several accept writes (a cluster of primaries), run migrations on one of them.
// CREATE, ALTER and DROP commit implicitly there, so a migration that fails half-way stays half
// applied; ours can be repeated (IF NOT EXISTS), and the next Up completes them. IF NOT EXISTS
// would also accept a table of another owner; so before a migration runs, those of its tables
// that already exist must have its columns.
package migrate

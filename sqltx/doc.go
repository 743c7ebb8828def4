// Package sqltx carries a database transaction in a context and runs hooks after its commit.
// [database/sql.Tx] has no such hooks.
//
// The outbox wakes its relay from such a hook, and the idempotency guard runs its handler in
// such a transaction. Both can share one transaction:
//
//	err := sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
//		if _, err := tx.ExecContext(ctx, `UPDATE seats SET …`); err != nil {
//			return err
//		}
//		return box.Append(ctx, tx, event) // wakes the relay after COMMIT
//	})
//
// If the database rolls a transaction back so that others can continue (a serialization
// failure, a deadlock), [Do] runs its function again. The function must be able to run more
// than once.
//
//	property                                                      proven by
//	fn's error or panic rolls back; nothing is committed          TestDoRollsBack, TestDoPanics
//	hooks run after a successful COMMIT, never before, in order   TestHooksRunAfterCommit
//	one hook's panic does not stop the others                     TestHookPanics
//	no hook runs after a rollback or a failed COMMIT              TestHooksDroppedOnRollback
//	a conflict with another transaction, in a statement or at
//	COMMIT, costs a repetition and no error                       TestDoRunsAgain, TestConflictAtCommit, TestDeadlock
//	… many writers at SERIALIZABLE: no error, no lost update      TestCrossedCounters
//	… the hooks of the runs that were rolled back are dropped     TestDoRunsAgain
//	… and the number of runs is bounded                           TestDoGivesUp, TestDoStopsWithItsContext
//	only the outermost Do repeats its function                    TestNestedConflict, TestConflictInsideAnotherDatabase
//	a pool, a connection and a nil are no transaction, not even
//	in a wrapper                                                  TestCheckTx
//	a nested Do on the same database joins the outer transaction  TestNestedJoins
//	… and needs no second connection, also in a pool of one       TestPoolOfOne
//	… also from inside a transaction on another database          TestTwoDatabases
//	an error inside a nested Do dooms the outer one, even if it
//	is swallowed on the way                                       TestNestedErrorDooms
//	a context that outlives its transaction is refused            TestEndedContext
//	a transaction that the caller ends takes part as well         TestAdopt
//	the driver's own transaction takes part as well: package
//	pgxtx                                                         pgxtx.TestTwoFaces
//
// A transaction of [Adopt] is not repeated: its owner ends it.
//
// Failure modes: if the connection breaks during COMMIT, its outcome is unknown. Do returns the
// error and runs no hook, so the wake-up for committed work can be missing: a reader that waits
// for a wake-up must also poll. A context that is cancelled before COMMIT rolls back. A
// function that ignores the error of a statement hides the conflict from Do: PostgreSQL then
// refuses the COMMIT, and MySQL continues outside any transaction.
package sqltx

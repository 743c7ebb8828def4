// Package sqltx carries a database transaction in a context and runs hooks
// after it has committed, which [database/sql.Tx] alone cannot do.
//
// The outbox wakes its relay from such a hook, the idempotency guard runs its handler
// in such a transaction, and both meet in one:
//
//	err := sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
//		if _, err := tx.ExecContext(ctx, `UPDATE seats SET …`); err != nil {
//			return err
//		}
//		return box.Append(ctx, tx, event) // wakes the relay after COMMIT
//	})
//
// When the database rolls a transaction back so that others can go on (a
// serialization failure, a deadlock), [Do] runs its function again: it must be
// able to run more than once.
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
//	a pool, a connection and a nil are no transaction, also in
//	a wrapper                                                     TestCheckTx
//	a nested Do on the same database joins the outer transaction  TestNestedJoins
//	… and asks a pool of one connection for no second one         TestPoolOfOne
//	… also from inside a transaction on another database          TestTwoDatabases
//	an error inside a nested Do dooms the outer one, even if it
//	is swallowed on the way                                       TestNestedErrorDooms
//	a context that outlives its transaction is refused            TestEndedContext
//	a transaction that the caller ends takes part as well         TestAdopt
//	the driver's own transaction can be used as well: package
//	pgxtx                                                         pgxtx.TestTwoFaces
//
// A transaction of [Adopt] is not repeated: its owner ends it.
//
// Failure modes: when the connection breaks during COMMIT its outcome is
// unknown; Do returns the error and runs no hook, so a wake-up can be missing
// for work that was committed, and a reader that waits for one must also poll now
// and then. A context that is cancelled before COMMIT rolls back. A function that
// ignores the error of a statement hides the conflict from Do: PostgreSQL then
// refuses the COMMIT, and MySQL goes on outside any transaction.
package sqltx

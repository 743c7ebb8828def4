// Package sqltx carries a database transaction in a context and runs hooks
// after it has committed, which [database/sql.Tx] alone cannot do.
//
// The outbox wakes its relay from such a hook, the inbox guard hands its
// transaction to the handler through it, and both meet in one transaction:
//
//	err := sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
//		if _, err := tx.ExecContext(ctx, `UPDATE seats SET …`); err != nil {
//			return err
//		}
//		return box.Append(ctx, tx, event) // wakes the relay after COMMIT
//	})
//
//	property                                                      proven by
//	fn's error or panic rolls back; nothing is committed          TestDoRollsBack, TestDoPanics
//	hooks run after a successful COMMIT, never before, in order   TestHooksRunAfterCommit
//	one hook's panic does not stop the others                     TestHookPanics
//	no hook runs after a rollback or a failed COMMIT              TestHooksDroppedOnRollback
//	a nested Do on the same database joins the outer transaction  TestNestedJoins
//	… also from inside a transaction on another database          TestTwoDatabases
//	an error inside a nested Do dooms the outer one, even if it
//	is swallowed on the way                                       TestNestedErrorDooms
//	a context that outlives its transaction is refused            TestEndedContext
//	somebody else's transaction takes part as well                TestAdopt
//
// Failure modes: when the connection breaks during COMMIT its outcome is
// unknown; Do returns the error and runs no hook, so a wake-up can be missing
// for work that was committed, and whoever waits for one must also poll now and
// then. A context that is cancelled before COMMIT rolls back.
package sqltx

// Package pgxtx runs functions in transactions of pgx, with the hooks, the joins and the
// repetition of package sqltx: for applications on a pgxpool.
//
//	db := pgxtx.Open(pool) // what the packages of this module take; it holds no connections
//	err := pgxtx.Do(ctx, db, func(ctx context.Context, tx pgx.Tx) error {
//		if _, err := tx.Exec(ctx, `UPDATE seats SET …`); err != nil {
//			return err
//		}
//		return box.Append(ctx, pgoutbox.Tx(tx), event) // wakes the relay after COMMIT
//	})
//
// One transaction has two faces: the pgx.Tx of the function, and the *sql.Tx with which
// stores of this module write beside it. So everything of package sqltx holds: a conflict
// runs the function again, [sqltx.AfterCommit] adds hooks, a nested Do joins.
//
//	property                                                  proven by
//	rows of both faces commit together, or none               TestTwoFaces
//	hooks run after the commit, and not after a rollback      TestHooks
//	a conflict runs the function again                        TestConflict
//	savepoints, COPY and batches are those of pgx             TestNativeMeans
//	the function cannot end the transaction, nor use it
//	after its end                                             TestEndIsNotTheirs
//	a cancelled context rolls back, and the connection
//	returns to the pool                                       TestCancelled
//	a transaction that Do did not begin is none of pgxtx      TestFrom
//
// Failure modes are those of package sqltx. A pool of fewer connections than the parts of
// an application hold at once makes them wait for each other: a relay and each transport
// that listens hold one, and each handler that works.
package pgxtx

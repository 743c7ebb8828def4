// Package pgxtx runs functions in transactions of pgx, with the hooks, the joins and the
// repetition of package sqltx. It is for applications on a pgxpool.
//
//	db := pgxtx.Open(pool) // the *sql.DB for packages of this module; it holds no connections
//	err := pgxtx.Do(ctx, db, func(ctx context.Context, tx pgx.Tx) error {
//		if _, err := tx.Exec(ctx, `UPDATE seats SET …`); err != nil {
//			return err
//		}
//		return box.Append(ctx, pgoutbox.Tx(tx), event) // wakes the relay after COMMIT
//	})
//
// One transaction has two faces: the pgx.Tx of the function, and the *sql.Tx that stores of
// this module use. The guarantees of package sqltx hold: a conflict runs the function again,
// [sqltx.AfterCommit] adds hooks, a nested Do joins.
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
//	it also ends BEGIN, COMMIT and ROLLBACK on a server that
//	hangs, the last two after a second                        TestStalledServer
//	a transaction that Do did not begin is none of pgxtx      TestOn
//
// Failure modes are those of package sqltx. Make the pool large enough: a relay, each transport
// that listens and each running handler hold one connection. If the pool has fewer connections,
// they wait for each other.
package pgxtx

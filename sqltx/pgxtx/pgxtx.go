package pgxtx

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-go/millrace/internal/intx"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/sqltx"
)

// errNotYours is returned by Commit and Rollback of a transaction of [Do]: Do ends the
// transaction itself, after its function has returned.
var errNotYours = errors.New("pgxtx: Do ends this transaction; return nil to commit it and an error to roll it back")

// Open returns pool as a database/sql pool. It keeps no connections of its own, and
// closing it leaves pool open.
func Open(pool *pgxpool.Pool) *sql.DB { return pgdb.OverPool(pool) }

// Do runs fn in a transaction on db, a pool of [Open], and commits it when fn returns nil: see
// [sqltx.Do]. FN CAN RUN MORE THAN ONCE. Set the isolation level and other options with
// [sqltx.Options].
func Do(ctx context.Context, db *sql.DB, fn func(ctx context.Context, tx pgx.Tx) error, opts ...sqltx.Options) error {
	return sqltx.Do(intx.WantConn(ctx), db, func(ctx context.Context, _ *sql.Tx) error {
		tx, ok := On(ctx, db)
		if !ok {
			return errors.New("pgxtx: the transaction is not of pgx; give Do the pool of pgxtx.Open, and begin the transaction around it with pgxtx.Do too")
		}
		return fn(ctx, tx)
	}, opts...)
}

// On returns the transaction on db that ctx carries, if [Do] began it.
func On(ctx context.Context, db *sql.DB) (pgx.Tx, bool) {
	other, _ := sqltx.On(ctx, db)
	conn, ok := intx.Conn(ctx, other)
	if !ok {
		return nil, false
	}
	var native pgx.Tx
	err := conn.Raw(func(driverConn any) error {
		if c, ok := driverConn.(interface{ Tx() pgx.Tx }); ok {
			native = c.Tx()
		}
		return nil
	})
	if err != nil || native == nil {
		return nil, false
	}
	return tx{native, other}, true
}

// tx is one transaction with both faces.
type tx struct {
	pgx.Tx
	other *sql.Tx
}

// Execer returns the transaction for stores of this module; see pgoutbox.Tx.
func (t tx) Execer() sqltx.Execer { return t.other }

// Commit is refused: Do ends the transaction.
func (tx) Commit(context.Context) error { return errNotYours }

// Rollback is refused: Do ends the transaction.
func (tx) Rollback(context.Context) error { return errNotYours }

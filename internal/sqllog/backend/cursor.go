package backend

import (
	"context"
	"database/sql"

	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/sqltx"
)

// Held is sqllog.ErrLeaseLost when an update that asks for the tokens of so many leases
// met fewer rows.
func Held(res sql.Result, err error, leases int64) error {
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n < leases {
		return sqllog.ErrLeaseLost
	}
	return nil
}

// Advance runs move, the update of a cursor, alone, or with further work in one
// transaction, which it joins when ctx carries one.
func Advance(ctx context.Context, db *sql.DB, move func(ctx context.Context, x sqltx.Execer) (sql.Result, error),
	also func(ctx context.Context, tx *sql.Tx) error,
) error {
	if also == nil {
		res, err := move(ctx, db)
		return Held(res, err, 1)
	}
	return sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		// The cursor's row is locked first, so that a new holder waits for all of it.
		res, err := move(ctx, tx)
		if err := Held(res, err, 1); err != nil {
			return err
		}
		return also(ctx, tx)
	})
}

// Joined is the transaction on db that ctx carries, or else db.
func Joined(ctx context.Context, db *sql.DB) sqltx.Execer {
	if tx, ok := sqltx.On(ctx, db); ok {
		return tx
	}
	return db
}

package sqllog

import (
	"context"
	"database/sql"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/sqltx"
)

// Held is log.ErrLeaseLost when an update that asks for the tokens of so many leases
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
		return log.ErrLeaseLost
	}
	return nil
}

// Joined is the transaction on db that ctx carries, or else db.
func Joined(ctx context.Context, db *sql.DB) sqltx.Execer {
	if tx, ok := sqltx.On(ctx, db); ok {
		return tx
	}
	return db
}

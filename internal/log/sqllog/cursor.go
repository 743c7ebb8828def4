package sqllog

import (
	"context"
	"database/sql"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/sqltx"
)

// Held returns log.ErrLeaseLost when an update conditioned on the tokens of this number of
// leases matched fewer rows.
func Held(res sql.Result, err error, leases int64) error {
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n < leases {
		return log.ErrLeaseLost
	}
	return err
}

// Querier is a pool or a transaction.
type Querier interface {
	sqltx.Execer
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Joined returns the transaction on db that ctx carries, or else db.
func Joined(ctx context.Context, db *sql.DB) Querier {
	if tx, ok := sqltx.On(ctx, db); ok {
		return tx
	}
	return db
}

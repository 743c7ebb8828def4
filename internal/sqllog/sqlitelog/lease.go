package sqlitelog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/sqltx"
)

// Lease implements [sqllog.Log].
func (l *Log) Lease(ctx context.Context, c sqllog.Cursor, holder string, ttl time.Duration) (sqllog.Lease, error) {
	var held bool
	if err := l.reader.QueryRowContext(ctx, l.sql.leaseHeld, c.Consumer, c.Lane, holder).Scan(&held); err != nil {
		return sqllog.Lease{}, fmt.Errorf("sqlitelog: lease: %w", err)
	}
	if held {
		return sqllog.Lease{}, sqllog.ErrLeaseHeld
	}
	lease := sqllog.Lease{Cursor: c, Holder: holder}
	err := l.db.QueryRowContext(ctx, l.sql.lease, c.Consumer, c.Lane, holder, ttl.Microseconds()).
		Scan(&lease.Token, &lease.Position.ID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return sqllog.Lease{}, sqllog.ErrLeaseHeld
	case err != nil:
		return sqllog.Lease{}, fmt.Errorf("sqlitelog: lease: %w", err)
	}
	return lease, nil
}

// Renew implements [sqllog.Log].
func (l *Log) Renew(ctx context.Context, lease sqllog.Lease, ttl time.Duration) error {
	res, err := l.db.ExecContext(ctx, l.sql.renew, lease.Consumer, lease.Lane, lease.Token, ttl.Microseconds())
	return held(res, err, "renew")
}

// Release implements [sqllog.Log].
func (l *Log) Release(ctx context.Context, lease sqllog.Lease) error {
	if _, err := l.db.ExecContext(ctx, l.sql.release, lease.Consumer, lease.Lane, lease.Token); err != nil {
		return fmt.Errorf("sqlitelog: release: %w", err)
	}
	return nil
}

// Advance implements [sqllog.Log]. Without further work it is one statement; with
// it, it joins a transaction of the context.
func (l *Log) Advance(ctx context.Context, lease sqllog.Lease, p sqllog.Position, ttl time.Duration,
	also func(ctx context.Context, tx *sql.Tx) error,
) error {
	move := func(x sqltx.Execer) error {
		res, err := x.ExecContext(ctx, l.sql.advance, lease.Consumer, lease.Lane, lease.Token, ttl.Microseconds(), p.ID)
		return held(res, err, "advance")
	}
	if also == nil {
		return move(l.db)
	}
	return sqltx.Do(ctx, l.db, func(ctx context.Context, tx *sql.Tx) error {
		if err := move(tx); err != nil {
			return err
		}
		return also(ctx, tx)
	})
}

// Rebase implements [sqllog.Log].
func (l *Log) Rebase(ctx context.Context, c sqllog.Cursor, since time.Time) error {
	if _, err := l.db.ExecContext(ctx, l.sql.rebase, c.Consumer, c.Lane, since.UnixMicro()); err != nil {
		return fmt.Errorf("sqlitelog: rebase: %w", err)
	}
	return nil
}

// held turns "no row was updated" into a lost lease.
func held(res sql.Result, err error, doing string) error {
	if err != nil {
		return fmt.Errorf("sqlitelog: %s: %w", doing, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("sqlitelog: %s: %w", doing, err)
	}
	if n == 0 {
		return fmt.Errorf("sqlitelog: %s: %w", doing, sqllog.ErrLeaseLost)
	}
	return nil
}

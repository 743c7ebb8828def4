package sqlitelog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/internal/sqllog/backend"
	"github.com/millrace-go/millrace/sqltx"
)

// Lease implements [sqllog.Log]. It joins a transaction of the context.
func (l *Log) Lease(ctx context.Context, c sqllog.Cursor, holder string, ttl time.Duration) (sqllog.Lease, error) {
	var held bool
	if err := l.reader.QueryRowContext(ctx, l.sql.leaseHeld, c.Consumer, c.Lane, holder).Scan(&held); err != nil {
		return sqllog.Lease{}, fmt.Errorf("sqlitelog: lease: %w", err)
	}
	if held {
		return sqllog.Lease{}, sqllog.ErrLeaseHeld
	}
	lease := sqllog.Lease{Cursor: c, Holder: holder}
	var on interface {
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	} = l.db
	if tx, ok := sqltx.On(ctx, l.db); ok {
		on = tx
	}
	err := on.QueryRowContext(ctx, l.sql.lease, c.Consumer, c.Lane, holder, ttl.Microseconds()).
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
func (l *Log) Renew(ctx context.Context, ttl time.Duration, leases ...sqllog.Lease) error {
	x := backend.Joined(ctx, l.db)
	for _, lease := range leases {
		res, err := x.ExecContext(ctx, l.sql.renew, lease.Consumer, lease.Lane, lease.Token, ttl.Microseconds(), lease.Position.ID)
		if err := backend.Held(res, err, 1); err != nil {
			return fmt.Errorf("sqlitelog: renew: %w", err)
		}
	}
	return nil
}

// Release implements [sqllog.Log].
func (l *Log) Release(ctx context.Context, lease sqllog.Lease) error {
	if _, err := backend.Joined(ctx, l.db).ExecContext(ctx, l.sql.release, lease.Consumer, lease.Lane, lease.Token); err != nil {
		return fmt.Errorf("sqlitelog: release: %w", err)
	}
	return nil
}

// Advance implements [sqllog.Log].
func (l *Log) Advance(ctx context.Context, lease sqllog.Lease, p sqllog.Position, ttl time.Duration) error {
	res, err := backend.Joined(ctx, l.db).ExecContext(ctx, l.sql.advance,
		lease.Consumer, lease.Lane, lease.Token, ttl.Microseconds(), p.ID, lease.Position.ID)
	if err := backend.Held(res, err, 1); err != nil {
		return fmt.Errorf("sqlitelog: advance: %w", err)
	}
	return nil
}

// Rebase implements [sqllog.Log].
func (l *Log) Rebase(ctx context.Context, c sqllog.Cursor, since time.Time) error {
	if _, err := l.db.ExecContext(ctx, l.sql.rebase, c.Consumer, c.Lane, since.UnixMicro()); err != nil {
		return fmt.Errorf("sqlitelog: rebase: %w", err)
	}
	return nil
}

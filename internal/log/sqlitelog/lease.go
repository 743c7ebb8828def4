package sqlitelog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/sqllog"
)

// Lease implements [log.Log]. It joins a transaction of the context.
func (l *Log) Lease(ctx context.Context, c log.Cursor, holder string, ttl time.Duration) (log.Lease, error) {
	var held bool
	if err := l.reader.QueryRowContext(ctx, l.sql.leaseHeld, c.Consumer, c.Lane, holder).Scan(&held); err != nil {
		return log.Lease{}, fmt.Errorf("sqlitelog: lease: %w", err)
	}
	if held {
		return log.Lease{}, log.ErrLeaseHeld
	}
	lease := log.Lease{Cursor: c, Holder: holder}
	err := sqllog.Joined(ctx, l.db).QueryRowContext(ctx, l.sql.lease, c.Consumer, c.Lane, holder, ttl.Microseconds()).
		Scan(&lease.Token, &lease.Position.ID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return log.Lease{}, log.ErrLeaseHeld
	case err != nil:
		return log.Lease{}, fmt.Errorf("sqlitelog: lease: %w", err)
	}
	return lease, nil
}

// Renew implements [log.Log].
func (l *Log) Renew(ctx context.Context, ttl time.Duration, leases ...log.Lease) error {
	x := sqllog.Joined(ctx, l.db)
	for _, lease := range leases {
		res, err := x.ExecContext(ctx, l.sql.renew, lease.Consumer, lease.Lane, lease.Token, ttl.Microseconds(), lease.Position.ID)
		if err := sqllog.Held(res, err, 1); err != nil {
			return fmt.Errorf("sqlitelog: renew: %w", err)
		}
	}
	return nil
}

// Release implements [log.Log].
func (l *Log) Release(ctx context.Context, lease log.Lease) error {
	if _, err := sqllog.Joined(ctx, l.db).ExecContext(ctx, l.sql.release, lease.Consumer, lease.Lane, lease.Token); err != nil {
		return fmt.Errorf("sqlitelog: release: %w", err)
	}
	return nil
}

// Advance implements [log.Log].
func (l *Log) Advance(ctx context.Context, lease log.Lease, p log.Position, ttl time.Duration) error {
	res, err := sqllog.Joined(ctx, l.db).ExecContext(ctx, l.sql.advance,
		lease.Consumer, lease.Lane, lease.Token, ttl.Microseconds(), p.ID, lease.Position.ID)
	if err := sqllog.Held(res, err, 1); err != nil {
		return fmt.Errorf("sqlitelog: advance: %w", err)
	}
	return nil
}

// Rebase is that of sqllog.Log.
func (l *Log) Rebase(ctx context.Context, c log.Cursor, since time.Time) error {
	if _, err := l.db.ExecContext(ctx, l.sql.rebase, c.Consumer, c.Lane, since.UnixMicro()); err != nil {
		return fmt.Errorf("sqlitelog: rebase: %w", err)
	}
	return nil
}

package pglog

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

// Lease implements [sqllog.Log].
func (l *Log) Lease(ctx context.Context, c sqllog.Cursor, holder string, ttl time.Duration) (sqllog.Lease, error) {
	for {
		lease := sqllog.Lease{Cursor: c, Holder: holder}
		p := &lease.Position
		err := l.db.QueryRowContext(ctx, l.sql.lease, c.Consumer, c.Lane, holder, ttl.Seconds()).
			Scan(&lease.Token, &p.From, &p.To, &p.End, &p.ID, &lease.Server)
		switch {
		case err == nil:
			return lease, nil
		case !errors.Is(err, sql.ErrNoRows):
			return sqllog.Lease{}, fmt.Errorf("pglog: lease: %w", err)
		}
		var present, foreign bool
		if err := l.db.QueryRowContext(ctx, l.sql.leaseState, c.Consumer, c.Lane).Scan(&present, &foreign); err != nil {
			return sqllog.Lease{}, fmt.Errorf("pglog: lease: %w", err)
		}
		switch {
		case foreign:
			return sqllog.Lease{}, fmt.Errorf("pglog: lease %s/%d: %w", c.Consumer, c.Lane, sqllog.ErrForeignDatabase)
		case present:
			return sqllog.Lease{}, sqllog.ErrLeaseHeld
		}
		if _, err := l.db.ExecContext(ctx, l.sql.createCursor, c.Consumer, c.Lane); err != nil {
			return sqllog.Lease{}, fmt.Errorf("pglog: create cursor: %w", err)
		}
	}
}

// Renew implements [sqllog.Log].
func (l *Log) Renew(ctx context.Context, lease sqllog.Lease, ttl time.Duration) error {
	res, err := l.db.ExecContext(ctx, l.sql.renew, lease.Consumer, lease.Lane, lease.Token, ttl.Seconds(), lease.Server)
	if err := backend.Held(res, err); err != nil {
		return fmt.Errorf("pglog: renew: %w", err)
	}
	return nil
}

// Release implements [sqllog.Log].
func (l *Log) Release(ctx context.Context, lease sqllog.Lease) error {
	if _, err := backend.Joined(ctx, l.db).ExecContext(ctx, l.sql.release, lease.Consumer, lease.Lane, lease.Token); err != nil {
		return fmt.Errorf("pglog: release: %w", err)
	}
	return nil
}

// Advance implements [sqllog.Log]. Without further work it is one statement.
func (l *Log) Advance(ctx context.Context, lease sqllog.Lease, p sqllog.Position, ttl time.Duration,
	also func(ctx context.Context, tx *sql.Tx) error,
) error {
	err := backend.Advance(ctx, l.db, func(ctx context.Context, x sqltx.Execer) (sql.Result, error) {
		return x.ExecContext(ctx, l.sql.advance, lease.Consumer, lease.Lane, lease.Token, ttl.Seconds(),
			covered(p), p.To, p.End, p.ID, lease.Server)
	}, also)
	if err != nil {
		return fmt.Errorf("pglog: advance: %w", err)
	}
	return nil
}

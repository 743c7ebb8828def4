package pglog

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
	for {
		lease := sqllog.Lease{Cursor: c, Holder: holder}
		p := &lease.Position
		err := l.db.QueryRowContext(ctx, l.sql.lease, c.Consumer, c.Lane, holder, ttl.Seconds()).
			Scan(&lease.Token, &p.From, &p.To, &p.End, &p.ID)
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
	res, err := l.db.ExecContext(ctx, l.sql.renew, lease.Consumer, lease.Lane, lease.Token, ttl.Seconds())
	return held(res, err, "renew")
}

// Release implements [sqllog.Log].
func (l *Log) Release(ctx context.Context, lease sqllog.Lease) error {
	if _, err := l.db.ExecContext(ctx, l.sql.release, lease.Consumer, lease.Lane, lease.Token); err != nil {
		return fmt.Errorf("pglog: release: %w", err)
	}
	return nil
}

// Advance implements [sqllog.Log]. Without further work it is one statement.
func (l *Log) Advance(ctx context.Context, lease sqllog.Lease, p sqllog.Position, ttl time.Duration,
	also func(ctx context.Context, tx *sql.Tx) error,
) error {
	move := func(x sqltx.Execer) error {
		res, err := x.ExecContext(ctx, l.sql.advance, lease.Consumer, lease.Lane, lease.Token, ttl.Seconds(),
			covered(p), p.To, p.End, p.ID)
		return held(res, err, "advance")
	}
	if also == nil {
		return move(l.db)
	}
	return sqltx.Do(ctx, l.db, func(ctx context.Context, tx *sql.Tx) error {
		// The cursor's row is locked first, so that a new holder waits for all of it.
		if err := move(tx); err != nil {
			return err
		}
		return also(ctx, tx)
	})
}

// held turns "no row was updated" into a lost lease.
func held(res sql.Result, err error, doing string) error {
	if err != nil {
		return fmt.Errorf("pglog: %s: %w", doing, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("pglog: %s: %w", doing, err)
	}
	if n == 0 {
		return fmt.Errorf("pglog: %s: %w", doing, sqllog.ErrLeaseLost)
	}
	return nil
}

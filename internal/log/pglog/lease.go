package pglog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/sqllog"
)

// Lease implements [log.Log].
func (l *Log) Lease(ctx context.Context, c log.Cursor, holder string, ttl time.Duration) (log.Lease, error) {
	for {
		lease := log.Lease{Cursor: c, Holder: holder}
		p := &lease.Position
		err := l.db.QueryRowContext(ctx, l.sql.lease, c.Consumer, c.Lane, holder, ttl.Seconds()).
			Scan(&lease.Token, &p.From, &p.To, &p.End, &p.Floor, &p.ID, &p.Server)
		switch {
		case err == nil:
			return lease, nil
		case !errors.Is(err, sql.ErrNoRows):
			return log.Lease{}, fmt.Errorf("pglog: lease: %w", err)
		}
		var present, foreign, free bool
		err = l.db.QueryRowContext(ctx, l.sql.leaseState, c.Consumer, c.Lane, holder).Scan(&present, &foreign, &free)
		switch {
		case err != nil:
			return log.Lease{}, fmt.Errorf("pglog: lease: %w", err)
		case foreign:
			return log.Lease{}, fmt.Errorf("pglog: lease %s/%d: %w", c.Consumer, c.Lane, log.ErrForeignDatabase)
		case free:
			continue
		case present:
			return log.Lease{}, log.ErrLeaseHeld
		}
		if _, err := l.db.ExecContext(ctx, l.sql.createCursor, c.Consumer, c.Lane); err != nil {
			return log.Lease{}, fmt.Errorf("pglog: create cursor: %w", err)
		}
	}
}

// Renew implements [log.Log]: it moves the cursor to its present position.
func (l *Log) Renew(ctx context.Context, ttl time.Duration, leases ...log.Lease) error {
	for _, lease := range leases {
		if err := l.advance(ctx, sqllog.Joined(ctx, l.db), lease, lease.Position, ttl); err != nil {
			return fmt.Errorf("pglog: renew: %w", err)
		}
	}
	return nil
}

// Release implements [log.Log].
func (l *Log) Release(ctx context.Context, lease log.Lease) error {
	err := l.record(ctx, sqllog.Joined(ctx, l.db), lease.Cursor, l.sql.release,
		lease.Consumer, lease.Lane, lease.Token, lease.Position.Server, lease.Holder)
	if err != nil && !errors.Is(err, log.ErrLeaseLost) {
		return fmt.Errorf("pglog: release: %w", err)
	}
	return nil
}

// Advance implements [log.Log].
func (l *Log) Advance(ctx context.Context, lease log.Lease, p log.Position, ttl time.Duration) error {
	if err := l.advance(ctx, sqllog.Joined(ctx, l.db), lease, p, ttl); err != nil {
		return fmt.Errorf("pglog: advance: %w", err)
	}
	return nil
}

func (l *Log) advance(ctx context.Context, x sqllog.Querier, lease log.Lease, p log.Position, ttl time.Duration) error {
	at := lease.Position
	if p.Server != "" && at.Server != "" && p.Server != at.Server {
		return log.ErrLeaseLost
	}
	return l.record(ctx, x, lease.Cursor, l.sql.advance, lease.Consumer, lease.Lane, lease.Token, at.Server, ttl.Seconds(),
		covered(at), at.To, at.End, at.ID, covered(p), p.To, p.End, p.ID, p.Floor)
}

// sweepEvery is the number of progress rows after which old ones are deleted.
const sweepEvery = 64

// record runs a statement that appends a row of progress under the lease's conditions.
func (l *Log) record(ctx context.Context, x sqllog.Querier, c log.Cursor, query string, args ...any) error {
	for {
		var held int
		var n int64
		if err := x.QueryRowContext(ctx, query, args...).Scan(&held, &n); err != nil {
			return err
		}
		switch {
		case held == 0:
			return log.ErrLeaseLost
		case n == 0:
			continue // another statement of the same holder came first
		case n%sweepEvery == 0:
			_, err := x.ExecContext(ctx, l.sql.sweep, c.Consumer, c.Lane)
			return err
		}
		return nil
	}
}

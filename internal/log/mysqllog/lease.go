package mysqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/sqllog"
)

// Lease implements [log.Log].
func (l *Log) Lease(ctx context.Context, c log.Cursor, holder string, ttl time.Duration) (log.Lease, error) {
	var held bool
	err := l.db.QueryRowContext(ctx, l.sql.leaseState, holder, c.Consumer, c.Lane).Scan(&held)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = l.create(ctx, c)
	case err == nil && held:
		return log.Lease{}, log.ErrLeaseHeld
	}
	if err != nil {
		return log.Lease{}, fmt.Errorf("mysqllog: lease: %w", err)
	}
	lease, err := l.take(ctx, c, holder, ttl)
	switch {
	case errors.Is(err, log.ErrLeaseLost), errors.Is(err, sql.ErrNoRows):
		return log.Lease{}, log.ErrLeaseHeld
	case err != nil:
		return log.Lease{}, fmt.Errorf("mysqllog: lease: %w", err)
	}
	return lease, nil
}

// create makes the cursor, and the lane's row when the lane is new.
func (l *Log) create(ctx context.Context, c log.Cursor) error {
	if _, err := l.db.ExecContext(ctx, l.sql.createLane, c.Lane); err != nil {
		return err
	}
	_, err := l.db.ExecContext(ctx, l.sql.createCursor, c.Consumer, c.Lane)
	return err
}

// take moves the token and reads the cursor's position, in one transaction: through a proxy both
// are from one server.
func (l *Log) take(ctx context.Context, c log.Cursor, holder string, ttl time.Duration) (log.Lease, error) {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return log.Lease{}, err
	}
	defer tx.Rollback() //nolint:errcheck // after the commit it does nothing
	res, err := tx.ExecContext(ctx, l.sql.lease, holder, ttl.Microseconds(), c.Consumer, c.Lane, holder)
	if err := sqllog.Held(res, err, 1); err != nil {
		return log.Lease{}, err
	}
	lease := log.Lease{Cursor: c, Holder: holder}
	if lease.Token, err = res.LastInsertId(); err != nil {
		return log.Lease{}, err
	}
	p := &lease.Position
	if err := tx.QueryRowContext(ctx, l.sql.position, c.Consumer, c.Lane, lease.Token).Scan(&p.ID, &p.Server); err != nil {
		return log.Lease{}, err
	}
	// A crash or a failover may have brought rows back, and may assign ids again, in any lane.
	l.pruned.Delete(c.Lane)
	l.unread.Store(nil)
	return lease, tx.Commit()
}

// Renew implements [log.Log].
func (l *Log) Renew(ctx context.Context, ttl time.Duration, leases ...log.Lease) error {
	for some := range slices.Chunk(leases, renewedAtOnce) {
		args := append(make([]any, 0, 1+6*len(some)), ttl.Microseconds())
		for _, lease := range some {
			at := lease.Position
			args = append(args, lease.Consumer, lease.Lane, lease.Token, lease.Holder, at.Server, at.ID)
		}
		query := l.sql.renew + strings.Repeat("\nOR "+l.sql.renewed, len(some)-1)
		res, err := sqllog.Joined(ctx, l.db).ExecContext(ctx, query, args...)
		if err := sqllog.Held(res, err, int64(len(some))); err != nil {
			return fmt.Errorf("mysqllog: renew: %w", err)
		}
	}
	return nil
}

// renewedAtOnce is how many leases are extended in one statement. A process has some dozens of
// them, a round trip for all takes as long as for one, and each is found by its primary key.
const renewedAtOnce = 128

// Release implements [log.Log].
func (l *Log) Release(ctx context.Context, lease log.Lease) error {
	l.next.Delete(lease.Lane)
	if _, err := sqllog.Joined(ctx, l.db).ExecContext(ctx, l.sql.release, lease.Consumer, lease.Lane, lease.Token, lease.Holder); err != nil {
		return fmt.Errorf("mysqllog: release: %w", err)
	}
	return nil
}

// Advance implements [log.Log].
func (l *Log) Advance(ctx context.Context, lease log.Lease, p log.Position, ttl time.Duration) error {
	at := lease.Position
	if p.Server != "" && p.Server != at.Server {
		return fmt.Errorf("mysqllog: advance: %w", elsewhere(p.Server, at.Server))
	}
	if p.Row == 0 && p.ID != 0 && p.ID != at.ID { // stored by a release that did not know the row
		err := l.db.QueryRowContext(ctx, l.sql.rowAt, lease.Lane, p.ID).Scan(&p.Row)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("mysqllog: advance: %w", err)
		}
	}
	res, err := sqllog.Joined(ctx, l.db).ExecContext(ctx, l.sql.advance, p.ID, ttl.Microseconds(),
		lease.Consumer, lease.Lane, lease.Token, lease.Holder, at.Server, p.ID, at.ID, p.ID, p.Row, p.ID)
	if err := sqllog.Held(res, err, 1); err != nil {
		return fmt.Errorf("mysqllog: advance: %w", err)
	}
	return nil
}

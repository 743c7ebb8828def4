package inbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

const (
	retainLease = "notification-retention"
	retainLook  = 10 * time.Minute
	retainBatch = 500
	// retainPause between steps leaves the database to others.
	retainPause = 100 * time.Millisecond
)

// Retention deletes old notifications.
type Retention struct{ *desk }

// Run deletes old notifications, step by step, while this process has the lease of
// that job.
func (r *Retention) Run(ctx context.Context) {
	job := r.store.NewJob(retainLease, r.cfg.Holder, r.cfg.LeaseTTL, r.cfg.Logger)
	defer job.GiveBack(ctx)
	r.repeat(ctx, nil, "old notifications could not be deleted", func(ctx context.Context) (time.Duration, error) {
		lease, err := job.Take(ctx)
		if errors.Is(err, store.ErrLeaseHeld) {
			return retainLook, nil
		}
		if err != nil {
			return 0, err
		}
		n, err := r.Retain(ctx, lease, retainBatch)
		switch {
		case errors.Is(err, store.ErrLeaseLost):
			job.Lost()
			return retainLook, nil
		case err != nil:
			job.Lost()
			return 0, err
		case n == retainBatch:
			return retainPause, nil
		}
		job.GiveBack(ctx) // the next look is far away
		return retainLook, nil
	})
}

// Retain deletes up to limit notifications that are older than [Keep], read or not,
// oldest first, and returns their number. When it fails with store.ErrLeaseLost, it
// has deleted nothing.
func (r *Retention) Retain(ctx context.Context, lease store.Lease, limit int) (int, error) {
	var n int64
	err := r.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n = 0
		if err := lease.Keep(ctx, tx, r.cfg.LeaseTTL); err != nil {
			return err
		}
		var created int64
		var id string
		err := tx.QueryRowContext(ctx, r.sql.LastOfStep, Keep.Milliseconds(), limit).Scan(&created, &id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, r.sql.DeleteUpTo, created, id)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("inbox: delete what is too old: %w", err)
	}
	r.counts.deleted.Add(n)
	return int(n), nil
}

package booking

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

const (
	sweepLease = "hold-timeout"
	sweepBatch = 100
	// sweepLook is how often an idle sweeper looks for holds that another
	// process made; its own wake it.
	sweepLook = time.Second
)

// Run ends unpaid holds when their time is over, while it has the lease of that
// job, until ctx ends. A database that fails is tried again.
func (b *Booking) Run(ctx context.Context) error {
	made, cancel := b.holds.Subscribe()
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var lease *store.Lease
	defer func() {
		if lease != nil {
			b.giveBack(ctx, *lease)
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-made:
		case <-timer.C:
		}
		next, err := b.sweep(ctx, &lease)
		if err != nil && ctx.Err() == nil {
			b.cfg.Logger.Warn("holds could not be ended, will try again", "error", err)
			next = sweepLook
		}
		timer.Reset(next)
	}
}

// sweep does what is due and returns when to look again.
func (b *Booking) sweep(ctx context.Context, lease **store.Lease) (time.Duration, error) {
	for {
		wait, err := b.untilDue(ctx)
		if err != nil || wait > 0 {
			return wait, err
		}
		if *lease == nil {
			l, err := b.store.TakeLease(ctx, sweepLease, b.cfg.Holder, b.cfg.LeaseTTL)
			if errors.Is(err, store.ErrLeaseHeld) {
				return sweepLook, nil
			}
			if err != nil {
				return 0, err
			}
			*lease = &l
		}
		if _, err := b.Sweep(ctx, **lease, sweepBatch); err != nil {
			*lease = nil // lost, or of unknown state: take it anew
			if errors.Is(err, store.ErrLeaseLost) {
				continue
			}
			return 0, err
		}
	}
}

// untilDue returns how long the earliest hold lasts, capped at sweepLook; 0
// when it is over.
func (b *Booking) untilDue(ctx context.Context) (time.Duration, error) {
	var ms sql.NullInt64
	if err := b.store.Reader().QueryRowContext(ctx, b.sql.NextDue).Scan(&ms); err != nil {
		return 0, fmt.Errorf("booking: next hold: %w", err)
	}
	if !ms.Valid {
		return sweepLook, nil
	}
	return min(max(0, time.Duration(ms.Int64)*time.Millisecond), sweepLook), nil
}

// Sweep ends up to limit holds whose time is over and returns how many. It
// fails with store.ErrLeaseLost, and then has done nothing.
func (b *Booking) Sweep(ctx context.Context, lease store.Lease, limit int) (int, error) {
	var n int
	err := b.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := lease.Keep(ctx, tx, b.cfg.LeaseTTL); err != nil {
			return err
		}
		var err error
		n, err = b.endOverdue(ctx, tx, limit)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("booking: sweep: %w", err)
	}
	return n, nil
}

// endOverdue ends them one by one; each is locked and found overdue.
func (b *Booking) endOverdue(ctx context.Context, tx *sql.Tx, limit int) (int, error) {
	ids, err := b.overdue(ctx, tx, limit)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if _, err := b.cancel(ctx, tx, id, b.sql.CancelPending, []any{id, HoldTimeout}, HoldTimeout, event.Event{}); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

func (b *Booking) overdue(ctx context.Context, tx *sql.Tx, limit int) ([]string, error) {
	rows, err := tx.QueryContext(ctx, b.sql.Overdue, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// giveBack releases the lease after ctx has ended, so that another process
// need not wait for it to run out.
func (b *Booking) giveBack(ctx context.Context, l store.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := l.Drop(ctx); err != nil {
		b.cfg.Logger.Warn("the sweeper's lease was not given back; it runs out by itself", "error", err)
	}
}

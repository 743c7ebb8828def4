package booking

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

const (
	sweepLease = "hold-timeout"
	sweepBatch = 100
)

// Run ends holds when their time is over and no payment keeps them, while it has the
// lease of that job, until ctx ends. After a failure of the database it tries again.
func (b *Booking) Run(ctx context.Context) error {
	return b.store.NewJob(sweepLease, b.cfg.Holder, b.cfg.LeaseTTL, b.cfg.Logger).Run(ctx, store.Work{
		Next: b.sql.NextDue, Args: []any{b.cfg.PaymentLimit.Milliseconds()},
		Do: func(ctx context.Context, lease store.Lease) error {
			_, err := b.Sweep(ctx, lease, sweepBatch)
			return err
		},
	})
}

// Sweep ends up to limit overdue holds and returns their number. When it fails with
// store.ErrLeaseLost, it has done nothing.
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

func (b *Booking) endOverdue(ctx context.Context, tx *sql.Tx, limit int) (int, error) {
	ids, err := store.Column(ctx, tx, b.sql.Overdue, b.cfg.PaymentLimit.Milliseconds(), limit)
	if err != nil {
		return 0, err
	}
	return b.endFound(ctx, tx, ids)
}

// endFound ends the holds that were found overdue and are locked, except those that
// got a payment meanwhile.
func (b *Booking) endFound(ctx context.Context, tx *sql.Tx, ids []string) (ended int, err error) {
	for _, id := range ids {
		args := []any{id, b.cfg.PaymentLimit.Milliseconds()}
		moved, err := b.cancel(ctx, tx, id, b.sql.CancelOverdue, args, HoldTimeout, event.Event{})
		if err != nil {
			return 0, err
		}
		if moved {
			ended++
		}
	}
	return ended, nil
}

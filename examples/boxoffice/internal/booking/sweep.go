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

// Timeouts end the holds that were not paid.
type Timeouts struct{ *desk }

// Run ends holds when their time is over and no payment keeps them, while it has the
// lease of that job, until ctx ends. After a failure of the database it tries again.
func (t *Timeouts) Run(ctx context.Context) error {
	return t.store.NewJob(sweepLease, t.cfg.Holder, t.cfg.LeaseTTL, t.cfg.Logger).Run(ctx, store.Work{
		Next: t.sql.NextDue, Args: []any{t.cfg.PaymentLimit.Milliseconds()},
		Do: func(ctx context.Context, lease store.Lease) (bool, error) {
			n, err := t.Sweep(ctx, lease, sweepBatch)
			return n > 0, err
		},
	})
}

// Sweep ends up to limit overdue holds and returns their number. When it fails with
// store.ErrLeaseLost, it has done nothing.
func (t *Timeouts) Sweep(ctx context.Context, lease store.Lease, limit int) (int, error) {
	var n int
	err := t.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := lease.Keep(ctx, tx, t.cfg.LeaseTTL); err != nil {
			return err
		}
		var err error
		n, err = t.endOverdue(ctx, tx, limit)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("booking: sweep: %w", err)
	}
	return n, nil
}

func (t *Timeouts) endOverdue(ctx context.Context, tx *sql.Tx, limit int) (int, error) {
	ids, err := store.Column(ctx, tx, t.sql.Overdue, t.cfg.PaymentLimit.Milliseconds(), limit)
	if err != nil {
		return 0, err
	}
	return t.endFound(ctx, tx, ids)
}

// endFound ends the holds that were found overdue and are locked, except those that
// got a payment meanwhile.
func (t *Timeouts) endFound(ctx context.Context, tx *sql.Tx, ids []string) (ended int, err error) {
	for _, id := range ids {
		args := []any{id, t.cfg.PaymentLimit.Milliseconds()}
		moved, err := t.cancel(ctx, tx, id, t.sql.CancelOverdue, args, HoldTimeout, event.Event{})
		if err != nil {
			return 0, err
		}
		if moved {
			ended++
		}
	}
	return ended, nil
}

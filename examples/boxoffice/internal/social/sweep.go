package social

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

const (
	sweepLease = "vote-close"
	sweepBatch = 100
)

// Run ends votes at their deadlines, while it has the lease of that job, until ctx
// ends. After a failure of the database it tries again.
func (v *Votes) Run(ctx context.Context) error {
	return v.store.NewJob(sweepLease, v.cfg.Holder, v.cfg.LeaseTTL, v.cfg.Logger).Run(ctx, store.Work{
		Next: v.sql.NextVote,
		Do: func(ctx context.Context, lease store.Lease) (bool, error) {
			n, err := v.Sweep(ctx, lease, sweepBatch)
			return n > 0, err
		},
	})
}

// Sweep ends up to limit overdue votes and returns their number. When it fails with
// store.ErrLeaseLost, it has done nothing.
func (v *Votes) Sweep(ctx context.Context, lease store.Lease, limit int) (n int, err error) {
	err = v.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n = 0
		if err := lease.Keep(ctx, tx, v.cfg.LeaseTTL); err != nil {
			return err
		}
		shows, err := store.Column(ctx, tx, v.sql.DueVotes, limit)
		if err != nil {
			return err
		}
		for _, show := range shows {
			if err := v.close(ctx, tx, show); err != nil {
				return err
			}
		}
		n = len(shows)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("social: sweep: %w", err)
	}
	return n, nil
}

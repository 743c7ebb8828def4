package social

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/sqlcounter"
	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/sqltx"
)

// comments is the name of the one counter.
const comments = "comment"

func (x *Social) makeCounter(deltas driver.Store) error {
	dialect := sqltx.Dialect(x.store.Dialect())
	var err error
	if x.changes, err = sqlcounter.NewLog(x.store.DB(), comments, sqlcounter.LogConfig{Dialect: dialect}); err != nil {
		return err
	}
	if x.applier, err = sqlcounter.New(x.store.DB(), sqlcounter.Config{Dialect: dialect, Also: x.toShows}); err != nil {
		return err
	}
	if x.counter, err = counter.New(comments, deltas, counter.Config{Totals: x.applier}); err != nil {
		return err
	}
	x.flusher, err = counter.NewFlusher(x.counter, x.applier, counter.FlusherConfig{
		Source: x.changes, Every: x.cfg.Flush, Lease: max(x.cfg.LeaseTTL, 3*x.cfg.Flush), Logger: x.cfg.Logger,
	})
	return err
}

// Migrate makes or updates the tables of the counts.
func (x *Social) Migrate(ctx context.Context) error {
	if err := x.changes.Migrate(ctx); err != nil {
		return fmt.Errorf("social: %w", err)
	}
	if err := x.applier.Migrate(ctx); err != nil {
		return fmt.Errorf("social: %w", err)
	}
	return nil
}

// toShows updates the shows' own columns along with the totals.
func (x *Social) toShows(ctx context.Context, tx *sql.Tx, _ string, deltas []driver.Delta) error {
	deltas = slices.Clone(deltas)
	slices.SortFunc(deltas, func(a, b driver.Delta) int { return cmp.Compare(a.Key, b.Key) }) // rows are locked in one order
	for _, d := range deltas {
		if _, err := tx.ExecContext(ctx, x.sql.AddComments, d.Key, d.N); err != nil {
			return err
		}
		x.catalog.Evict(ctx, d.Key)
	}
	return nil
}

// Collector has the figures of this process's counter and flusher, for a
// prometheus.Registerer.
func (x *Social) Collector() (prometheus.Collector, error) {
	return metrics.NewCounters([]*counter.Counter{x.counter}, []*counter.Flusher{x.flusher})
}

// Pending is how many comments of each show are not in its count yet, as far as
// known.
func (x *Social) Pending(ctx context.Context, shows ...string) (map[string]int64, error) {
	return x.counter.Pending(ctx, shows...)
}

// RunCounts counts comments until ctx ends. Several processes may run it; one works.
func (x *Social) RunCounts(ctx context.Context) error { return x.flusher.Run(ctx) }

// FlushCounts counts now.
func (x *Social) FlushCounts(ctx context.Context) (counter.Round, error) { return x.flusher.Flush(ctx) }

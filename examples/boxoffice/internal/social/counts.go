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

// Counts are how many comments each show has.
type Counts struct {
	*desk
	changes driver.SQLLog
	applier driver.SQLApplier
	counter *counter.Counter
}

// newCounts makes the counts. deltas has the comments that were not counted yet.
func newCounts(d *desk, deltas driver.Store, cfg Config) (*Counts, error) {
	dialect := sqltx.Dialect(d.store.Dialect())
	c := &Counts{desk: d}
	var err error
	if c.changes, err = sqlcounter.NewLog(d.store.DB(), dialect, comments); err != nil {
		return nil, err
	}
	if c.applier, err = sqlcounter.New(d.store.DB(), sqlcounter.Config{Dialect: dialect, Also: c.toShows}); err != nil {
		return nil, err
	}
	c.counter, err = counter.New(comments, deltas, counter.Config{
		Applier: c.applier, Source: c.changes, Every: cfg.Flush, Lease: max(cfg.LeaseTTL, 3*cfg.Flush), Logger: cfg.Logger,
	})
	return c, err
}

// Migrate makes or updates the tables of the counts.
func (c *Counts) Migrate(ctx context.Context) error {
	if err := c.changes.Migrate(ctx); err != nil {
		return fmt.Errorf("social: %w", err)
	}
	if err := c.applier.Migrate(ctx); err != nil {
		return fmt.Errorf("social: %w", err)
	}
	return nil
}

// toShows updates the shows' own columns along with the totals.
func (c *Counts) toShows(ctx context.Context, tx *sql.Tx, _ string, deltas []driver.Delta) error {
	deltas = slices.Clone(deltas)
	slices.SortFunc(deltas, func(a, b driver.Delta) int { return cmp.Compare(a.Key, b.Key) }) // rows are locked in one order
	for _, d := range deltas {
		if _, err := tx.ExecContext(ctx, c.sql.AddComments, d.Key, d.N); err != nil {
			return err
		}
		c.catalog.Evict(ctx, d.Key)
	}
	return nil
}

// Collector has the figures of this process's counter, for a
// prometheus.Registerer.
func (c *Counts) Collector() (prometheus.Collector, error) {
	return metrics.New(c.counter)
}

// Pending is how many comments of each show are not in its count yet, as far as
// known.
func (c *Counts) Pending(ctx context.Context, shows ...string) (map[string]int64, error) {
	return c.counter.Pending(ctx, shows...)
}

// Run counts comments until ctx ends. Several processes may run it; one works.
func (c *Counts) Run(ctx context.Context) error { return c.counter.Run(ctx) }

// Flush counts now.
func (c *Counts) Flush(ctx context.Context) (counter.Round, error) { return c.counter.Flush(ctx) }

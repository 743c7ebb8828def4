package idempotency

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/internal/backoff"
)

// PrunerConfig configures [RunPruner]. The zero value keeps keys for 30 days.
type PrunerConfig struct {
	// Retention is how long keys are kept; 30 days when zero. It must exceed the
	// redelivery horizon that the package comment describes: an event that is redelivered later
	// takes effect again.
	Retention time.Duration
	// Interval is the time between two rounds; 1 hour when zero.
	Interval time.Duration
	// Chunk is how many keys one transaction deletes; 1000 when zero. A larger chunk holds
	// locks, on SQLite the only write lock, for longer.
	Chunk int
	// Logger receives the errors of rounds, which the next round retries; slog.Default() when
	// nil.
	Logger *slog.Logger
}

func (c PrunerConfig) validate() error {
	if c.Retention < 0 {
		return fmt.Errorf("idempotency: PrunerConfig.Retention is %v; use a positive duration, or 0 for 30 days", c.Retention)
	}
	if c.Interval < 0 {
		return fmt.Errorf("idempotency: PrunerConfig.Interval is %v; use a positive duration, or 0 for an hour", c.Interval)
	}
	if c.Chunk < 0 {
		return fmt.Errorf("idempotency: PrunerConfig.Chunk is %d; use a positive number, or 0 for 1000", c.Chunk)
	}
	return nil
}

func (c PrunerConfig) withDefaults() PrunerConfig {
	c.Retention = cmp.Or(c.Retention, 30*24*time.Hour)
	c.Interval = cmp.Or(c.Interval, time.Hour)
	c.Chunk = cmp.Or(c.Chunk, 1000)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// RunPruner deletes old keys of a store in chunks, now and then every interval, until ctx is done;
// then it returns nil. A failed round is logged; the next one runs in time. Several instances may
// run on one store. Mistakes in cfg are returned at once.
func RunPruner(ctx context.Context, store driver.Prunable, cfg PrunerConfig) error {
	if store == nil {
		return errors.New("idempotency: the store is nil; make one with sqlidempotency.New")
	}
	if err := cfg.validate(); err != nil {
		return err
	}
	cfg = cfg.withDefaults()
	for {
		if n, err := prune(ctx, store, cfg); err != nil && ctx.Err() == nil {
			cfg.Logger.ErrorContext(ctx, "pruning idempotency keys failed; trying again later",
				"error", err, "deleted", n, "again_in", cfg.Interval)
		}
		if backoff.Sleep(ctx, cfg.Interval) != nil {
			return nil
		}
	}
}

// prune runs one round: it deletes chunks until there are no old keys, and returns how many
// keys it deleted, also when it ends early with an error.
func prune(ctx context.Context, store driver.Prunable, cfg PrunerConfig) (int, error) {
	for total := 0; ; {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		n, err := store.Prune(ctx, cfg.Retention, cfg.Chunk)
		total += n
		if err != nil || n < cfg.Chunk {
			return total, err
		}
	}
}

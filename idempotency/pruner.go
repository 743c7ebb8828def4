package idempotency

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/internal/backoff"
)

// PrunerConfig configures a [Pruner]. The zero value keeps keys for 30 days.
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

// Pruner deletes old keys in chunks. Several instances may run on one store.
type Pruner struct {
	store driver.Prunable
	cfg   PrunerConfig
}

// NewPruner creates a pruner for a store.
func NewPruner(store driver.Prunable, cfg PrunerConfig) (*Pruner, error) {
	if store == nil {
		return nil, errors.New("idempotency: the store is nil; make one with sqlidempotency.New")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Retention == 0 {
		cfg.Retention = 30 * 24 * time.Hour
	}
	if cfg.Interval == 0 {
		cfg.Interval = time.Hour
	}
	if cfg.Chunk == 0 {
		cfg.Chunk = 1000
	}
	return &Pruner{store: store, cfg: cfg}, nil
}

// Run prunes now and then every interval, until ctx is done; then it returns nil. A failed
// round is logged; the next one runs in time.
func (p *Pruner) Run(ctx context.Context) error {
	log := p.cfg.Logger
	if log == nil {
		log = slog.Default()
	}
	for {
		if n, err := p.Prune(ctx); err != nil && ctx.Err() == nil {
			log.ErrorContext(ctx, "pruning idempotency keys failed; trying again later",
				"error", err, "deleted", n, "again_in", p.cfg.Interval)
		}
		if backoff.Sleep(ctx, p.cfg.Interval) != nil {
			return nil
		}
	}
}

// Prune runs one round: it deletes chunks until there are no old keys, and returns how many
// keys it deleted, also when it ends early with an error.
func (p *Pruner) Prune(ctx context.Context) (int, error) {
	before := time.Now().Add(-p.cfg.Retention)
	for total := 0; ; {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		n, err := p.store.Prune(ctx, before, p.cfg.Chunk)
		total += n
		if err != nil || n < p.cfg.Chunk {
			return total, err
		}
	}
}

package outbox

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/outbox/driver"
)

// prune deletes old published events in chunks, while the shard is held.
func (s *shard) prune(ctx context.Context, p driver.Pruner) {
	for {
		n, err := s.pruneOnce(ctx, p)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.r.cfg.Logger.Error("outbox: pruning failed; trying again later", "shard", s.id, "error", err)
		}
		if n > 0 {
			s.r.cfg.Hooks.Pruned(s.id, n)
		}
		if backoff.Sleep(ctx, s.r.cfg.PruneInterval) != nil {
			return
		}
	}
}

func (s *shard) pruneOnce(ctx context.Context, p driver.Pruner) (deleted int, err error) {
	before := time.Now().Add(-s.r.cfg.Retention)
	for ctx.Err() == nil {
		call, cancel := s.r.call(ctx)
		n, err := p.Prune(call, s.id, before, s.r.cfg.PruneChunk)
		cancel()
		deleted += n
		if err != nil || n < s.r.cfg.PruneChunk {
			return deleted, err
		}
	}
	return deleted, nil
}

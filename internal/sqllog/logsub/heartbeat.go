package logsub

import (
	"context"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
)

// heartbeat says for all members of the process that they live.
type heartbeat struct {
	b   Backend
	cfg Config

	// telling is held while the database is told, so that a beat under way
	// cannot bring a member back that has just left. It guards members.
	telling gate
	members map[Member]struct{}
}

// join makes the member known before it takes a lease.
func (p *heartbeat) join(ctx context.Context, m Member) error {
	if err := p.telling.enter(ctx); err != nil {
		return err
	}
	defer p.telling.leave()
	if err := p.b.Directory.Beat(ctx, p.cfg.LeaseTTL, []Member{m}); err != nil {
		return err
	}
	p.members[m] = struct{}{}
	return nil
}

// leave makes the others share the member's lanes. When the database cannot be
// told, they find out once the member's time has run out.
func (p *heartbeat) leave(ctx context.Context, m Member) error {
	if err := p.telling.enter(ctx); err != nil {
		return err
	}
	defer p.telling.leave()
	delete(p.members, m)
	return p.b.Directory.Leave(ctx, m)
}

func (p *heartbeat) run(ctx context.Context) {
	interval := p.cfg.LeaseTTL / 3
	wait := interval
	for failures := 0; backoff.Sleep(ctx, wait) == nil; {
		err := p.beat(ctx)
		if err == nil || ctx.Err() != nil {
			failures, wait = 0, interval
			continue
		}
		failures++
		wait = min(retry.Delay(failures), interval)
		p.cfg.Logger.Warn("bus: heartbeat failed; trying again", slog.Int("attempt", failures), slog.Any("error", err))
	}
}

func (p *heartbeat) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	if err := p.telling.enter(ctx); err != nil {
		return err
	}
	defer p.telling.leave()
	if len(p.members) == 0 {
		return nil
	}
	members := make([]Member, 0, len(p.members))
	for m := range p.members {
		members = append(members, m)
	}
	return p.b.Directory.Beat(ctx, p.cfg.LeaseTTL, members)
}

// pruneChunk is how many messages one statement removes.
const pruneChunk = 500

// prune removes what is older than its topic's retention and passed by every group.
func (h *Hub) prune(ctx context.Context) {
	for backoff.Sleep(ctx, h.cfg.PruneInterval) == nil {
		if err := h.pruneOnce(ctx); err != nil && ctx.Err() == nil {
			h.cfg.Logger.Warn("bus: old messages could not be removed; trying again later", slog.Any("error", err))
		}
	}
}

func (h *Hub) pruneOnce(ctx context.Context) error {
	all, err := h.b.Directory.Topics(ctx)
	if err != nil {
		return err
	}
	for _, topic := range all {
		retention := topic.Retention
		if retention == 0 {
			retention = h.cfg.Retention
		}
		for i := range topic.Partitions {
			for n := pruneChunk; n == pruneChunk; {
				if n, err = h.b.Log.Prune(ctx, topic.FirstLane+i, time.Now().Add(-retention), pruneChunk); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

package logsub

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/lease"
)

// heartbeat reports all members of the process as alive.
type heartbeat struct {
	b   Backend
	cfg Config

	// telling is held during calls to the database, so that a beat under way cannot bring a
	// member back that has just left.
	telling gate

	mu      sync.Mutex
	members map[Member]struct{}
}

// join registers the member before it takes a lease.
func (p *heartbeat) join(ctx context.Context, m Member) error {
	if err := p.telling.enter(ctx); err != nil {
		return err
	}
	defer p.telling.leave()
	if err := p.b.Directory.Beat(ctx, p.cfg.LeaseTTL, []Member{m}); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members[m] = struct{}{}
	return nil
}

// leave makes the others share the member's lanes. If the database cannot be told, they notice
// when the member's time is over.
func (p *heartbeat) leave(ctx context.Context, m Member) error {
	p.mu.Lock()
	delete(p.members, m)
	p.mu.Unlock()
	if err := p.telling.enter(ctx); err != nil {
		return err
	}
	defer p.telling.leave()
	return p.b.Directory.Leave(ctx, m)
}

func (p *heartbeat) run(ctx context.Context) {
	term := lease.NewTerm(p.cfg.LeaseTTL, 0)
	term.Extended(time.Now()) // by join
	for term.Keep(ctx, nil, p.beat) != nil {
		term = lease.NewTerm(p.cfg.LeaseTTL, 0) // it expired, and starts again
	}
}

func (p *heartbeat) beat(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	err := p.tell(limited)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		p.cfg.Logger.Warn("bus: heartbeat failed; trying again", slog.Any("error", err))
	}
	return err
}

// tell reports all members as alive.
func (p *heartbeat) tell(ctx context.Context) error {
	if err := p.telling.enter(ctx); err != nil {
		return err
	}
	defer p.telling.leave()
	p.mu.Lock()
	members := slices.Collect(maps.Keys(p.members))
	p.mu.Unlock()
	if len(members) == 0 {
		return nil
	}
	return p.b.Directory.Beat(ctx, p.cfg.LeaseTTL, members)
}

// pruneChunk is how many messages one statement removes.
const pruneChunk = 500

// prune removes messages that are older than their topic's retention and that every group has
// passed.
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
		retention := cmp.Or(topic.Retention, h.cfg.Retention)
		for i := range topic.Partitions {
			// A partition that fails, as when its server is down, delays no others.
			err = cmp.Or(err, h.pruneLane(ctx, topic.FirstLane+i, retention))
		}
	}
	return err
}

func (h *Hub) pruneLane(ctx context.Context, lane int, retention time.Duration) (err error) {
	for n := pruneChunk; n == pruneChunk && err == nil; {
		n, err = h.b.Log.Prune(ctx, lane, time.Now().Add(-retention), pruneChunk)
	}
	return err
}

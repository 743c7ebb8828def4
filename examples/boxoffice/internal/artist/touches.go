package artist

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"time"
)

const (
	// maxTouches bounds the reads noted between two writes; beyond it a read is not
	// noted, and the next read of that artist is.
	maxTouches = 10_000
	touchBatch = 500
	touchEvery = 5 * time.Second
)

// touches collects the artists that were read, so that reading writes nothing.
type touches struct {
	mu  sync.Mutex
	ids map[string]struct{}
}

func newTouches() *touches { return &touches{ids: map[string]struct{}{}} }

func (t *touches) add(id string) {
	t.mu.Lock()
	if len(t.ids) < maxTouches {
		t.ids[id] = struct{}{}
	}
	t.mu.Unlock()
}

func (t *touches) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := make([]string, 0, len(t.ids))
	for id := range t.ids {
		ids = append(ids, id)
	}
	clear(t.ids)
	slices.Sort(ids) // writers meet in one order
	return ids
}

// keepTouching periodically writes the artists that were read.
func (m *Mirror) keepTouching(ctx context.Context) {
	tick := time.NewTicker(touchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			m.touch(ctx)
		}
	}
}

func (m *Mirror) touch(ctx context.Context) {
	for ids := range slices.Chunk(m.touches.take(), touchBatch) {
		err := m.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, list(m.sql.Touch, len(ids)), anys(ids)...)
			return err
		})
		if err != nil && ctx.Err() == nil {
			m.cfg.Logger.Warn("reads of artists were not noted; the next ones will be", "artists", len(ids), "error", err)
		}
	}
}

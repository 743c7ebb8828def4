package artist

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
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
	*desk

	mu  sync.Mutex
	ids map[string]struct{}
}

func newTouches(d *desk) *touches { return &touches{desk: d, ids: map[string]struct{}{}} }

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

// run periodically writes the artists that were read.
func (t *touches) run(ctx context.Context) {
	signal.Every(ctx, touchEvery, t.write)
}

func (t *touches) write(ctx context.Context) {
	for ids := range slices.Chunk(t.take(), touchBatch) {
		err := t.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, store.In(t.sql.Touch, 1, len(ids)), store.Args(ids...)...)
			return err
		})
		if err != nil && ctx.Err() == nil {
			t.cfg.Logger.Warn("reads of artists were not noted; the next ones will be", "artists", len(ids), "error", err)
		}
	}
}

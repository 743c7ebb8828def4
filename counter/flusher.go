package counter

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/millrace-go/millrace/counter/driver"
)

// flusher updates the totals of one counter.
type flusher struct {
	counter string
	store   driver.Store
	applier driver.Applier
	cfg     Config
	holder  string
	turn    chan struct{} // one round at a time
	cared   time.Time     // when old batches and rows were last dropped
	saved   time.Time     // when the position was last saved without rows
	stats   flusherStats
}

func newFlusher(name string, store driver.Store, cfg Config) *flusher {
	return &flusher{
		counter: name, store: limitedStore{store}, applier: limitedApplier{cfg.Applier}, cfg: cfg,
		holder: strings.ToLower(rand.Text()), turn: make(chan struct{}, 1),
	}
}

// run is [Counter.Run].
func (f *flusher) run(ctx context.Context) error {
	tick := time.NewTicker(f.cfg.Every)
	defer tick.Stop()
	failing := false
	for ctx.Err() == nil {
		r, err := f.flush(ctx)
		switch {
		case ctx.Err() != nil || errors.Is(err, driver.ErrLeaseHeld):
		case err != nil && !failing:
			failing = true
			f.cfg.Logger.WarnContext(ctx, "counter: flushing fails; it goes on trying", "counter", f.counter, "err", err)
		case err == nil && failing:
			failing = false
			f.cfg.Logger.InfoContext(ctx, "counter: flushing works again", "counter", f.counter)
		}
		if err == nil && r.More {
			continue
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	f.release(ctx)
	return nil
}

// release releases the lease, so that standbys need not wait for its end.
func (f *flusher) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	l, err := f.applier.Lease(ctx, f.counter, f.holder, time.Second)
	if err == nil {
		err = f.applier.Release(ctx, l)
	}
	if err != nil && !errors.Is(err, driver.ErrLeaseHeld) {
		f.cfg.Logger.WarnContext(ctx, "counter: the lease was not given back; others wait for its end", "counter", f.counter, "err", err)
	}
}

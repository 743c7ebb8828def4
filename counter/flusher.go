package counter

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/millrace-go/millrace/counter/driver"
)

// FlusherConfig is the configuration of a [Flusher]. The zero value works.
type FlusherConfig struct {
	// Source has the change rows from which the totals are then made. The default is none:
	// totals are made from the store's deltas, and deltas that the store loses are lost.
	Source driver.Source
	// Every is how often the totals are updated; 3 s by default. Each round costs a few calls
	// of store and database.
	Every time.Duration
	// Batch is how many keys, or change rows, one transaction takes; 500 by default. Its rows
	// stay locked for that long.
	Batch int
	// Lease is how long a crashed flusher blocks others; 30 s by default. It must be longer
	// than Every.
	Lease time.Duration
	// Keep is how long the records of applied batches, and change rows, are kept; 30 days by
	// default. An applied batch that stays aside for longer could be applied again.
	Keep time.Duration
	// Observe is called after each round that changed something, by the goroutine of the round;
	// none by default.
	Observe func(Round)
	// Logger receives a line when rounds begin to fail and when they work again; slog.Default()
	// by default.
	Logger *slog.Logger
}

func (c FlusherConfig) withDefaults() FlusherConfig {
	if c.Every == 0 {
		c.Every = 3 * time.Second
	}
	if c.Batch == 0 {
		c.Batch = 500
	}
	if c.Lease == 0 {
		c.Lease = max(30*time.Second, 10*c.Every)
	}
	if c.Keep == 0 {
		c.Keep = 30 * 24 * time.Hour
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func (c FlusherConfig) validate() error {
	switch {
	case c.Every < 0:
		return fmt.Errorf("counter: FlusherConfig.Every is %s; give a positive duration, or 0 for 3 s", c.Every)
	case c.Batch < 0 || c.Batch > maxBatch:
		return fmt.Errorf("counter: FlusherConfig.Batch is %d; give 1 to %d, or 0 for 500", c.Batch, maxBatch)
	case c.Lease <= c.Every:
		return fmt.Errorf("counter: FlusherConfig.Lease is %s and Every %s; give a longer lease, or 0 for 30 s", c.Lease, c.Every)
	case c.Keep < time.Hour:
		return fmt.Errorf("counter: FlusherConfig.Keep is %s; give at least an hour, or 0 for 30 days", c.Keep)
	}
	return nil
}

// maxBatch is how many keys or rows one transaction may take at most.
const maxBatch = 4000

// Flusher updates the totals of one counter. Several may run: one works, the others stand by.
type Flusher struct {
	counter string
	store   driver.Store
	applier driver.Applier
	cfg     FlusherConfig
	holder  string
	turn    chan struct{} // one round at a time
	cared   time.Time     // when old batches and rows were last dropped
	saved   time.Time     // when the position was last saved without rows
	stats   flusherStats
}

// NewFlusher creates a flusher of the counter.
func NewFlusher(c *Counter, applier driver.Applier, cfg FlusherConfig) (*Flusher, error) {
	switch {
	case c == nil:
		return nil, errors.New("counter: the counter is nil; make one with New")
	case applier == nil:
		return nil, errors.New("counter: the applier is nil; make one with sqlcounter.New")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Flusher{
		counter: c.name, store: limitedStore{c.store}, applier: limitedApplier{applier}, cfg: cfg,
		holder: strings.ToLower(rand.Text()), turn: make(chan struct{}, 1),
	}, nil
}

// Run flushes at once and then every Config.Every, until the context ends; then it releases the
// lease and returns nil. A failed round is retried by the next one.
func (f *Flusher) Run(ctx context.Context) error {
	tick := time.NewTicker(f.cfg.Every)
	defer tick.Stop()
	failing := false
	for ctx.Err() == nil {
		r, err := f.Flush(ctx)
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
func (f *Flusher) release(ctx context.Context) {
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

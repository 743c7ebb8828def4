package counter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/fault"
)

// errResting is returned while an unreachable store is not called.
var errResting = errors.New("counter: the store could not be reached a moment ago and is left alone")

// Counter counts, for example, the comments of each post. Requests call Add and Counts; one
// process or more call Run.
type Counter struct {
	name  string
	store driver.Store
	cfg   Config

	rests         atomic.Pointer[time.Time] // the end of the store's rest
	added, failed atomic.Int64
	flusher       *flusher // nil without an applier
}

// New creates a counter. Its name is part of keys and rows: all processes that share a counter
// use the same name.
func New(name string, store driver.Store, cfg Config) (*Counter, error) {
	if err := driver.CheckName(name); err != nil {
		return nil, err
	}
	if store == nil {
		return nil, errors.New("counter: the store is nil; make one with memcounter.New or rediscounter.New")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &Counter{name: name, store: store, cfg: cfg}
	if cfg.Applier != nil {
		c.flusher = newFlusher(name, store, cfg)
	}
	return c, nil
}

// Add changes the count of a key by n. Call it after the commit of the counted row, and ignore
// its error: with a [driver.Source] the next flush corrects the totals.
func (c *Counter) Add(ctx context.Context, key string, n int64) error {
	if err := driver.CheckChange(key, n); err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	err := c.call(ctx, func(ctx context.Context) error { return c.store.Add(ctx, c.name, key, n) })
	if err != nil {
		c.failed.Add(1)
		return fmt.Errorf("counter: add to %q of %s: %w", key, c.name, err)
	}
	c.added.Add(1)
	return nil
}

// Pending returns the sums for the keys that are not in the totals yet.
func (c *Counter) Pending(ctx context.Context, keys ...string) (map[string]int64, error) {
	for _, key := range keys {
		if err := driver.CheckChange(key, 0); err != nil {
			return nil, err
		}
	}
	if len(keys) == 0 {
		return map[string]int64{}, nil
	}
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	var out map[string]int64
	err := c.call(ctx, func(ctx context.Context) (err error) {
		out, err = c.store.Pending(ctx, c.name, keys)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("counter: pending of %s: %w", c.name, err)
	}
	return out, nil
}

// Counts returns the totals of the keys plus the pending sums, for display. If the store is
// unreachable, Counts returns the totals alone. For an instant around a flush it can be off by
// recent additions.
func (c *Counter) Counts(ctx context.Context, keys ...string) (map[string]int64, error) {
	if c.cfg.Applier == nil {
		return nil, errNoApplier
	}
	pending, err := c.Pending(ctx, keys...)
	if err != nil && fault.Of(err) == fault.Permanent {
		return nil, err
	}
	totals, err := c.cfg.Applier.Totals(ctx, c.name, keys)
	if err != nil {
		return nil, fmt.Errorf("counter: totals of %s: %w", c.name, err)
	}
	out := make(map[string]int64, len(keys))
	for _, key := range keys {
		out[key] = totals[key] + pending[key]
	}
	return out, nil
}

// call calls the store, unless the store rests.
func (c *Counter) call(ctx context.Context, do func(ctx context.Context) error) error {
	if until := c.rests.Load(); until != nil && time.Now().Before(*until) {
		return fault.MarkInfrastructure(errResting)
	}
	bounded, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	err := do(bounded)
	if err != nil && ctx.Err() == nil && (fault.Of(err) == fault.Infrastructure || bounded.Err() != nil) {
		until := time.Now().Add(c.cfg.Rest)
		c.rests.Store(&until)
	}
	return err
}

var errNoApplier = errors.New("counter: Config.Applier is nil; give the one that keeps the totals, such as sqlcounter.New's")

// Run updates the totals at once and then every Config.Every, until the context ends; then it
// releases the lease and returns nil. A failed round is retried by the next one. Several
// processes may run the same counter: one works, the others stand by.
func (c *Counter) Run(ctx context.Context) error {
	if c.flusher == nil {
		return errNoApplier
	}
	return c.flusher.run(ctx)
}

// Flush runs one round: it updates the totals, and returns the changes, also after a failure.
// It fails with [driver.ErrLeaseHeld] when another process is at work.
func (c *Counter) Flush(ctx context.Context) (Round, error) {
	if c.flusher == nil {
		return Round{Counter: c.name}, errNoApplier
	}
	return c.flusher.flush(ctx)
}

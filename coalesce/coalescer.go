package coalesce

import (
	"context"

	"github.com/millrace-go/millrace/coalesce/driver"
)

// Coalescer lets one of many requests for the refresh of a key do it.
type Coalescer struct {
	store  driver.Store
	cfg    Config
	ttl    driver.TTLs
	guard  guard
	shared sharing
	counts counters
}

// New creates a coalescer. All instances of an application must use stores on the same server,
// and the same TTLs.
func New(store driver.Store, cfg Config) (*Coalescer, error) {
	if store == nil {
		return nil, errNoStore
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &Coalescer{store: store, cfg: cfg, ttl: driver.TTLs{High: cfg.HighTTL, Low: cfg.LowTTL, Version: cfg.VersionTTL}}
	c.guard = newGuard(cfg, func(key string, err error) {
		c.counts.refused.Add(1)
		if cfg.OnRefused != nil {
			cfg.OnRefused(key, err)
		}
	})
	return c, nil
}

// Request decides whether the caller should have the key refreshed. If the decision is Mine,
// the caller publishes the ticket, and releases it if the publish fails; [Coalescer.Do] does
// both.
//
// After an error the outcome is unknown: the request is refused, and if it was executed in
// spite of the error, the lock stands until its TTL. Callers of one process that ask the same
// question at the same time share a call of the store.
func (c *Coalescer) Request(ctx context.Context, key string, p Priority) (Decision, error) {
	return c.request(ctx, key, p, false)
}

// Again is a Request of a caller that knows of a change which the current run may have missed:
// if the key is being refreshed already, there is one more run afterwards. However many callers
// ask, it is one, of high priority if any of them has it. The holder of the lock starts it after
// [Coalescer.Done]. If the decision is Mine, publish with [Coalescer.Publish].
func (c *Coalescer) Again(ctx context.Context, key string, p Priority) (Decision, error) {
	return c.request(ctx, key, p, true)
}

func (c *Coalescer) request(ctx context.Context, key string, p Priority, again bool) (Decision, error) {
	if err := driver.Check(key, p); err != nil {
		return Decision{}, err
	}
	var d Decision
	err := c.guard.ask(ctx, "request", key, func(ctx context.Context) (err error) {
		if again {
			d, err = c.store.Request(ctx, key, p, true, c.ttl)
			return err
		}
		d, err = c.shared.request(ctx, question{key, p}, func() (Decision, error) {
			return c.store.Request(ctx, key, p, false, c.ttl)
		})
		return err
	})
	if err != nil {
		return Decision{}, err
	}
	switch d.Outcome {
	case Published:
		c.counts.published.Add(1)
	case Upgraded:
		c.counts.upgraded.Add(1)
	case AlreadyProcessing:
		c.counts.coalesced.Add(1)
	}
	if c.cfg.OnDecided != nil {
		c.cfg.OnDecided(d)
	}
	return d, nil
}

// Release ends a ticket without a refresh: after a publish that failed, or when its event
// became a dead letter. It reports whether the ticket held the lock. Of many concurrent
// releases exactly one succeeds, and a release never deletes another's lock. A run that was
// requested with [Coalescer.Again] is dropped with the lock.
func (c *Coalescer) Release(ctx context.Context, key string, p Priority, version int64) (released bool, err error) {
	t := Ticket{Key: key, Priority: p, Version: version}
	if err := t.Check(); err != nil {
		return false, err
	}
	err = c.guard.ask(ctx, "release", key, func(ctx context.Context) (err error) {
		released, err = c.store.Release(ctx, t)
		return err
	})
	c.note(t, released, err)
	return released, err
}

// Done ends a finished run; the next request can begin another. If one more run was requested
// meanwhile, again is true and next holds the lock: the caller publishes next, best with
// [Coalescer.Publish]. If the ticket does not hold the lock any more, Done does nothing: the
// lock had expired, or was upgraded.
func (c *Coalescer) Done(ctx context.Context, key string, p Priority, version int64) (next Ticket, again bool, err error) {
	t := Ticket{Key: key, Priority: p, Version: version}
	if err := t.Check(); err != nil {
		return Ticket{}, false, err
	}
	var end driver.End
	err = c.guard.ask(ctx, "end the run of", key, func(ctx context.Context) (err error) {
		end, err = c.store.Done(ctx, t, c.ttl)
		return err
	})
	c.note(t, end.Released, err)
	if err != nil || !end.Again {
		return Ticket{}, false, err
	}
	c.counts.reruns.Add(1)
	return end.Next, true, nil
}

// Extend restarts the TTL of a ticket's lock, and reports whether the ticket still held the
// lock. Use it for work that takes longer than the TTL. If the lock was lost, a second run may
// be in progress, and the version decides which result counts.
func (c *Coalescer) Extend(ctx context.Context, key string, p Priority, version int64) (extended bool, err error) {
	t := Ticket{Key: key, Priority: p, Version: version}
	if err := t.Check(); err != nil {
		return false, err
	}
	err = c.guard.ask(ctx, "extend", key, func(ctx context.Context) (err error) {
		extended, err = c.store.Extend(ctx, t, c.ttl)
		return err
	})
	c.note(t, extended, err)
	return extended, err
}

// note counts a ticket that did not hold its lock.
func (c *Coalescer) note(t Ticket, held bool, err error) {
	if err == nil && !held {
		c.counts.conflicts.Add(1)
		if c.cfg.OnConflict != nil {
			c.cfg.OnConflict(t)
		}
	}
}

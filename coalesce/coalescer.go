package coalesce

import "context"

// Coalescer lets one of many requests for the refresh of a key do it.
type Coalescer struct {
	store  Store
	cfg    Config
	ttl    TTLs
	guard  guard
	shared sharing
	counts counters
}

// New makes a coalescer. All instances of an application give theirs stores on
// the same server, and the same TTLs.
func New(store Store, cfg Config) (*Coalescer, error) {
	if store == nil {
		return nil, errNoStore
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Hooks = cfg.Hooks.withDefaults()
	c := &Coalescer{store: store, cfg: cfg, ttl: TTLs{High: cfg.HighTTL, Low: cfg.LowTTL, Version: cfg.VersionTTL}}
	c.guard = newGuard(cfg, func(key string, err error) {
		c.counts.refused.Add(1)
		cfg.Hooks.Refused(key, err)
	})
	return c, nil
}

// Option of one request.
type Option func(*options)

type options struct{ again bool }

// Again asks, when somebody is at it already, for one more run after that one:
// for a request that knows of a change which the work under way may have missed.
// However many ask, there is one more run, of high priority when any of them has
// it. Whoever has the lock learns of it from [Coalescer.Done].
func Again() Option { return func(o *options) { o.again = true } }

// Request decides whether the caller shall have the key refreshed. When the
// decision is Mine the caller publishes the ticket, and releases it when that
// fails; [Coalescer.Do] does both.
//
// An error says that nothing is known: the request is refused, and if it was
// carried out all the same the lock stands until its TTL. Callers of one process
// who ask the same thing at the same moment share a call of the store.
func (c *Coalescer) Request(ctx context.Context, key string, p Priority, opts ...Option) (Decision, error) {
	var o options
	for _, set := range opts {
		set(&o)
	}
	if err := Check(key, p); err != nil {
		return Decision{}, err
	}
	var d Decision
	err := c.guard.ask(ctx, "request", key, func(ctx context.Context) (err error) {
		if o.again {
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
	c.cfg.Hooks.Decided(d)
	return d, nil
}

// Release gives a ticket back: after a publish that failed, or when its event
// was given up. It reports whether the ticket held the lock; exactly one of many
// concurrent releases does, and nobody's releases another's lock. A run that was
// asked for with [Again] is forgotten with it.
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

// Done ends a run whose work is done, and lets the next request begin another.
// When one more run was asked for meanwhile, again is true and next holds the
// lock: the caller publishes it, best with [Coalescer.Publish]. When the ticket
// does not hold the lock any more nothing happens: the lock had expired, or was
// upgraded.
func (c *Coalescer) Done(ctx context.Context, key string, p Priority, version int64) (next Ticket, again bool, err error) {
	t := Ticket{Key: key, Priority: p, Version: version}
	if err := t.Check(); err != nil {
		return Ticket{}, false, err
	}
	var end End
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

// Extend begins the TTL of a ticket's lock anew, and reports whether the ticket
// still held it: for work that takes longer than the TTL. When it did not, a
// second run may be under way, and the version decides whose result counts.
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
		c.cfg.Hooks.Conflict(t)
	}
}

package coalesce

import "context"

// Current returns the newest version of a key. It is unknown when the key was
// never asked for, when the store lost it, and Config.VersionTTL after the last
// change.
func (c *Coalescer) Current(ctx context.Context, key string) (version int64, known bool, err error) {
	if err := CheckKey(key); err != nil {
		return 0, false, err
	}
	err = c.guard.ask(ctx, "look up the version of", key, func(ctx context.Context) (err error) {
		version, known, err = c.store.Current(ctx, key)
		return err
	})
	return version, known, err
}

// Obsolete reports whether a newer version than this one counts, so that the
// event need not be worked on, and counts it if so. With an unknown current
// version it is not obsolete: do the work. It can turn obsolete a moment later,
// so the database write is conditional on the version all the same.
func (c *Coalescer) Obsolete(ctx context.Context, key string, version int64) (bool, error) {
	current, known, err := c.Current(ctx, key)
	if err != nil || !known || version >= current {
		return false, err
	}
	c.Skipped()
	return true, nil
}

// Sequence is Current as a bus.Consumer wants it in its field Current: it makes
// the consumer acknowledge events of a lower Sequence without work. An unknown
// version is 0, below every event's. The consumer's key is event.Event.Key, so
// ask for refreshes under the same key.
//
//	bus.Consumer{
//		Topic: "update-priority-low", Group: "low-worker", Handler: refresh,
//		Current: coalescer.Sequence,
//		Hooks:   bus.Hooks{OnObsolete: func(bus.Obsolete) { coalescer.Skipped() }},
//	}
func (c *Coalescer) Sequence(ctx context.Context, key string) (uint64, error) {
	current, known, err := c.Current(ctx, key)
	if err != nil || !known || current < 0 {
		return 0, err
	}
	return uint64(current), nil
}

// Skipped counts an event that somebody else found to be obsolete: a consumer
// with [Coalescer.Sequence], from its hook.
func (c *Coalescer) Skipped() { c.counts.obsolete.Add(1) }

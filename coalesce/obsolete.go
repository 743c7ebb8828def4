package coalesce

import (
	"context"

	"github.com/millrace-go/millrace/coalesce/driver"
)

// Obsolete reports whether a newer version than this one exists, so that the event can be
// skipped, and counts it if so. If the current version is unknown, the event is not obsolete:
// do the work. The event can become obsolete a moment later, so the database write must be
// conditional on the version anyway.
func (c *Coalescer) Obsolete(ctx context.Context, key string, version int64) (bool, error) {
	current, known, err := c.current(ctx, key)
	if err != nil || !known || version >= current {
		return false, err
	}
	c.Skipped()
	return true, nil
}

// Sequence returns the newest version of a key, in the form of a bus.Consumer's field Current:
// the consumer then acknowledges events of a lower Sequence without work. It is 0, below every
// event's, if the key was never requested, if the store lost it, and Config.VersionTTL after the
// last change. The consumer's key is event.Event.Key, so request refreshes under the same key.
//
//	bus.Consumer{
//		Topic: "update-priority-low", Group: "low-worker", Handler: refresh,
//		Current: coalescer.Sequence,
//		Hooks:   bus.Hooks{OnObsolete: func(bus.Obsolete) { coalescer.Skipped() }},
//	}
func (c *Coalescer) Sequence(ctx context.Context, key string) (uint64, error) {
	current, known, err := c.current(ctx, key)
	if err != nil || !known || current < 0 {
		return 0, err
	}
	return uint64(current), nil
}

// Skipped counts an event that a consumer with [Coalescer.Sequence] found to be obsolete; call
// it in the consumer's hook.
func (c *Coalescer) Skipped() { c.counts.obsolete.Add(1) }

// current returns the newest version of a key, if it is known.
func (c *Coalescer) current(ctx context.Context, key string) (version int64, known bool, err error) {
	if err := driver.CheckKey(key); err != nil {
		return 0, false, err
	}
	err = c.guard.ask(ctx, "look up the version of", key, func(ctx context.Context) (err error) {
		version, known, err = c.store.Current(ctx, key)
		return err
	})
	return version, known, err
}

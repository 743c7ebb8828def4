package coalesce

import (
	"context"
	"errors"
	"fmt"
)

// Do asks for a refresh and, when it is the caller's to publish, calls publish
// with the version that the event shall carry as its sequence. publish has the
// priority that was asked for.
//
// When publish fails or panics the lock is released at once, also when ctx has
// ended, and the error comes back with the decision; when the release fails too
// the lock stands until its TTL. Others who asked meanwhile were told that
// somebody is at it: nobody refreshes the key until the next request. After an
// upgrade that includes the low run that was upgraded, whose event is skipped as
// obsolete.
//
// publish should return before the lock's TTL: past it another request may
// publish a newer version, which then is the one that counts.
func (c *Coalescer) Do(ctx context.Context, key string, p Priority, publish func(ctx context.Context, version int64) error, opts ...Option) (Decision, error) {
	d, err := c.Request(ctx, key, p, opts...)
	if err != nil || !d.Mine() {
		return d, err
	}
	return d, c.Publish(ctx, d.Ticket, func(ctx context.Context, t Ticket) error { return publish(ctx, t.Version) })
}

// Publish publishes a ticket that holds its lock, the one that Done returned
// for one more run, and releases it when that fails, as Do does.
func (c *Coalescer) Publish(ctx context.Context, t Ticket, publish func(ctx context.Context, t Ticket) error) (err error) {
	if err := t.Check(); err != nil {
		return err
	}
	published := false
	defer func() {
		if published {
			return
		}
		// Bounded by Config.Timeout, whatever has become of ctx.
		if _, failed := c.Release(context.WithoutCancel(ctx), t.Key, t.Priority, t.Version); failed != nil {
			err = errors.Join(err, failed)
		}
	}()
	if err := publish(ctx, t); err != nil {
		return fmt.Errorf("coalesce: publish the refresh of %q: %w", t.Key, err)
	}
	published = true
	return nil
}

package coalesce

import (
	"context"
	"errors"
	"fmt"
)

// Do requests a refresh and, if the decision is Mine, calls publish with the version that the
// event must carry as its sequence. The event must have the priority of the request.
//
// If publish fails or panics, the lock is released at once, also if ctx has ended, and the
// error is returned with the decision. If the release fails too, the lock stands until its TTL.
// Requests that arrived meanwhile got AlreadyProcessing: the key is not refreshed until the
// next request. After an upgrade this includes the low run, whose event is skipped as obsolete.
//
// publish should return before the lock's TTL: after it, another request may publish a newer
// version, which then is the one that counts.
func (c *Coalescer) Do(ctx context.Context, key string, p Priority, publish func(ctx context.Context, version int64) error) (Decision, error) {
	d, err := c.Request(ctx, key, p)
	if err != nil || !d.Mine() {
		return d, err
	}
	return d, c.Publish(ctx, d.Ticket, func(ctx context.Context, t Ticket) error { return publish(ctx, t.Version) })
}

// Publish publishes a ticket that holds its lock, the next run that Done returned, and releases
// it if that fails, as Do does.
func (c *Coalescer) Publish(ctx context.Context, t Ticket, publish func(ctx context.Context, t Ticket) error) (err error) {
	if err := t.Check(); err != nil {
		return err
	}
	published := false
	defer func() {
		if published {
			return
		}
		// Bounded by Config.Timeout, even if ctx has ended.
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

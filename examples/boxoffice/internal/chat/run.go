package chat

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Run takes sockets and sends stored messages until ctx ends; then it closes the
// sockets and waits for them. It returns nil, or the error for which the broker
// cannot be listened to. A Chat runs once.
func (c *Chat) Run(ctx context.Context) error {
	if c.started.Swap(true) {
		return errors.New("chat: this Chat has run; make another")
	}
	// Sockets need inner to end, so it outlives ctx.
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	failed := make(chan error, 1)
	var parts sync.WaitGroup
	for _, part := range []func(context.Context){c.Sockets.look, c.bells.Run, c.alerts.Run} {
		parts.Go(func() { part(inner) })
	}
	parts.Go(func() {
		if err := c.bells.listen(inner); err != nil {
			failed <- err
		}
	})
	c.Sockets.feeds.begin()
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	c.Sockets.feeds.end()
	// A socket may be in a write, and then in its close handshake.
	late := time.NewTimer(c.Sockets.cfg.WriteTimeout + goodbye)
	defer late.Stop()
	select {
	case <-c.Sockets.feeds.empty:
	case <-late.C:
	}
	stop()
	parts.Wait()
	return err
}

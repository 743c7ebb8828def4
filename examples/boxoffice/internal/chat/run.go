package chat

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// readTimeout bounds how long a room is read.
const readTimeout = 5 * time.Second

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
	for _, part := range []func(context.Context){c.look, c.sendBells, c.sendAlerts} {
		parts.Go(func() { part(inner) })
	}
	parts.Go(func() {
		if err := c.broker.Listen(inner, c.listener()); err != nil {
			failed <- fmt.Errorf("chat: listen: %w", err)
		}
	})
	c.feeds.begin()
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	c.feeds.end()
	// A socket may be in a write, and then in its close handshake.
	late := time.NewTimer(c.cfg.WriteTimeout + goodbye)
	defer late.Stop()
	select {
	case <-c.feeds.empty:
	case <-late.C:
	}
	stop()
	parts.Wait()
	return err
}

package chat

import (
	"context"
	"time"
)

// readTimeout bounds how long a room is read.
const readTimeout = 5 * time.Second

// look reads the new messages of the rooms that were notified, and periodically of
// all: a bell can be lost.
func (o *Sockets) look(ctx context.Context) {
	tick := time.NewTicker(o.cfg.Look)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			o.feeds.heardAll()
			continue
		case <-o.feeds.wake:
		}
		for _, feed := range o.feeds.due() {
			err := o.lookAt(ctx, feed)
			if err != nil && ctx.Err() == nil && !failing {
				o.cfg.Logger.WarnContext(ctx, "chat: a room cannot be read, its sockets wait", "room", feed.room, "error", err)
			}
			failing = err != nil
		}
	}
}

// lookAt reads a room to its end.
func (o *Sockets) lookAt(ctx context.Context, feed *feed) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for {
		messages, err := o.messages.After(ctx, feed.room, o.feeds.placeOf(feed), page)
		if err != nil {
			return err
		}
		if len(messages) > 0 {
			o.counts.slow.Add(int64(o.feeds.give(feed, messages)))
		}
		if len(messages) < page {
			return nil
		}
	}
}

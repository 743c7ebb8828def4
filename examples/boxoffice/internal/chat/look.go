package chat

import (
	"context"
	"time"
)

// readTimeout bounds how long a room is read.
const readTimeout = 5 * time.Second

// look reads the new messages of the rooms that were notified, and periodically of
// all: a bell can be lost.
func (s *Sockets) look(ctx context.Context) {
	tick := time.NewTicker(s.cfg.Look)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.feeds.heardAll()
			continue
		case <-s.feeds.wake:
		}
		for _, feed := range s.feeds.due() {
			err := s.lookAt(ctx, feed)
			if err != nil && ctx.Err() == nil && !failing {
				s.cfg.Logger.WarnContext(ctx, "chat: a room cannot be read, its sockets wait", "room", feed.room, "error", err)
			}
			failing = err != nil
		}
	}
}

// lookAt reads a room to its end.
func (s *Sockets) lookAt(ctx context.Context, feed *feed) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for {
		messages, err := s.messages.After(ctx, feed.room, s.feeds.placeOf(feed), page)
		if err != nil {
			return err
		}
		if len(messages) > 0 {
			s.counts.slow.Add(int64(s.feeds.give(feed, messages)))
		}
		if len(messages) < page {
			return nil
		}
	}
}

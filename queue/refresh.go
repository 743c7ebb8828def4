package queue

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// Bounds of a refresh: a line of so many looks has more people than the world, and
// a refresh that starts over so often has no end.
const (
	maxLooks  = 1 << 15
	maxStarts = 8
)

// current is the snapshot to answer from, nil when none is fresh enough, and the
// time. When a refresh is due the caller makes it, unless another caller does: then
// it takes the old snapshot.
func (l *line) current(ctx context.Context, start time.Duration) (s *snapshot, now time.Duration, refreshed bool) {
	now = start
	if int64(now) >= l.due.Load() && ctx.Err() == nil && l.refreshing.TryLock() {
		refreshed = l.refresh(ctx, now)
		now = l.room.now()
	}
	s = l.snap.Load()
	if s == nil || now-s.at > l.room.cfg.MaxStale {
		return nil, now, refreshed
	}
	return s, now, refreshed
}

// refresh brings the snapshot up to date. A failure is logged once, and tried again
// after Config.Refresh. The caller has locked l.refreshing, which is unlocked here, also
// when Config.Settings or the logger panics.
func (l *line) refresh(ctx context.Context, now time.Duration) bool {
	defer l.refreshing.Unlock()
	l.due.Store(int64(now + l.room.cfg.Refresh))
	s, err := l.look(ctx, now)
	l.room.turned(ctx, l.failing.Swap(err != nil), err,
		"queue: a snapshot cannot be refreshed; it answers for a while, then nobody gets in", "queue: the snapshot is refreshed again",
		slog.String("event", l.event), slog.Duration("max_stale", l.room.cfg.MaxStale))
	if err != nil {
		return false
	}
	l.snap.Store(s)
	l.saw(s.top())
	l.told.forget(s)
	l.learn(s.state)
	l.room.counts.refreshes.Add(1)
	l.follow(ctx, &s.state)
	return true
}

// look asks for the changes since the snapshot, in as many calls as it takes.
func (l *line) look(ctx context.Context, now time.Duration) (*snapshot, error) {
	s := l.snap.Load()
	var epoch, version uint64
	if s != nil {
		epoch, version = s.state.Epoch, s.version
	}
	starts := 0
	for range maxLooks {
		view, err := askFor(ctx, l, func(ctx context.Context) (driver.View, error) {
			return l.room.store.Look(ctx, l.event, l.room.rules, epoch, version)
		})
		if err != nil {
			return nil, err
		}
		s = s.with(view, now)
		if !view.More {
			return s, nil
		}
		if view.Full {
			if starts++; starts > maxStarts {
				break
			}
		}
		epoch, version = view.Epoch, view.Version
	}
	return nil, errors.New("the line's blocks have no end")
}

package mysqllog

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
)

const (
	// WatchInterval is how often [Log.Watch] looks when nothing comes, by default.
	WatchInterval = 100 * time.Millisecond
	// watchQuick is how long after something came it looks again.
	watchQuick = 2 * time.Millisecond
)

// Watch calls changed each time a commit, in this process or another, has left
// something that no reader has met yet. It looks 2 ms after something came or was
// given its place, and then after a tenth of the time since, up to idle (WatchInterval
// when zero); one look is one statement that writes nothing. A look that fails is
// repeated after a pause, and changed is called, since something may have been missed.
// It returns ctx's error once ctx is done.
func (l *Log) Watch(ctx context.Context, idle time.Duration, changed func()) error {
	if idle <= 0 {
		idle = WatchInterval
	}
	retry := backoff.Policy{Initial: idle, Max: max(2*time.Second, idle), Multiplier: 2, Jitter: 0.2}
	poll := backoff.Poll{Quick: watchQuick, Idle: idle}
	failures := 0
	var seen map[int]tip
	var cost time.Duration // of a look when nothing disturbs it
	for {
		start := time.Now()
		tips, err := l.tips(ctx)
		took := time.Since(start)
		cost = min(took, cost+took/16)
		var wait time.Duration
		if err != nil {
			failures++
			seen, wait = nil, retry.Delay(failures)
		} else {
			moved, fresh := compare(tips, seen)
			if seen == nil || moved || fresh {
				poll.Met()
			}
			if seen == nil || fresh {
				changed()
			}
			// A look is slow while a snapshot is held, see doc.go: it stays a small part.
			seen, failures, wait = tips, 0, max(poll.Wait(), 5*cost)
		}
		if err := backoff.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// tip is the end of a lane: the next place, and the last committed row without one.
type tip struct{ next, unread int64 }

// compare is whether a lane has moved on, so that its reader is at work, and whether
// one has something else to read than at the last look. What was there then and still
// is was reported: its reader is busy or paused.
func compare(now, seen map[int]tip) (moved, fresh bool) {
	for lane, t := range now {
		moved = moved || t.next != seen[lane].next
		fresh = fresh || t.unread != 0 && t.unread != seen[lane].unread
	}
	return moved, fresh
}

// tips returns the ends of the lanes that have or had a cursor.
func (l *Log) tips(ctx context.Context) (map[int]tip, error) {
	rows, err := l.db.QueryContext(ctx, l.sql.lanes, l.unreadNow().args()...)
	if err != nil {
		return nil, fmt.Errorf("mysqllog: lanes: %w", err)
	}
	defer rows.Close() //nolint:errcheck // Err is checked below
	out := map[int]tip{}
	for rows.Next() {
		var lane int
		var t tip
		if err := rows.Scan(&lane, &t.next, &t.unread); err != nil {
			return nil, fmt.Errorf("mysqllog: lanes: %w", err)
		}
		out[lane] = t
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("mysqllog: lanes: %w", err)
	}
	return out, nil
}

package mysqllog

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/sqlrows"
)

const (
	// WatchInterval is the default interval at which an idle [Log.Watch] polls.
	WatchInterval = 100 * time.Millisecond
	// watchQuick is the interval after a change.
	watchQuick = 2 * time.Millisecond
)

// Watch calls changed each time a commit, in this process or another, has left a row that no
// reader has seen yet. It polls 2 ms after a row arrived or was given its place, and then after
// a tenth of the time since, up to idle (WatchInterval when zero). One poll is one statement
// that writes nothing. A failed poll is repeated after a pause, and changed is called, since a
// change may have been missed. Watch returns ctx's error once ctx is done.
func (l *Log) Watch(ctx context.Context, idle time.Duration, changed func()) error {
	if idle <= 0 {
		idle = WatchInterval
	}
	retry := backoff.Policy{Initial: idle, Max: max(2*time.Second, idle), Multiplier: 2, Jitter: 0.2}
	poll := backoff.Poll{Quick: watchQuick, Idle: idle}
	failures := 0
	var seen map[int]tip
	var cost time.Duration // of an undisturbed poll
	for {
		start := time.Now()
		tips, err := l.tips(ctx, seen)
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
			// A poll is slow while a snapshot is held, see doc.go: polling stays a small part of
			// the time.
			seen, failures, wait = tips, 0, max(poll.Wait(), 5*cost)
		}
		if err := backoff.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// tip is the end of a lane: the next place, and the last committed row without one.
type tip struct{ next, unread int64 }

// compare reports whether a lane has moved to its end, so that rows arrived since the last poll,
// and whether a lane has other rows to read than then. Rows that are still there were reported
// before: their reader is busy with them, or paused.
func compare(now, seen map[int]tip) (moved, fresh bool) {
	for lane, t := range now {
		moved = moved || t.unread == 0 && t.next != seen[lane].next
		fresh = fresh || t.unread != 0 && t.unread != seen[lane].unread
	}
	return moved, fresh
}

// tips returns the ends of the lanes that have or had a cursor. It selects those of the last
// poll, and repeats if there are others.
func (l *Log) tips(ctx context.Context, seen map[int]tip) (map[int]tip, error) {
	lanes := slices.Collect(maps.Keys(seen))
	for {
		out, count, err := l.tipsOf(ctx, lanes)
		if err != nil || count == len(lanes) {
			return out, err
		}
		if lanes, err = l.lanes(ctx); err != nil {
			return nil, err
		}
	}
}

// tipsOf returns the ends of some lanes, and how many lanes there are.
func (l *Log) tipsOf(ctx context.Context, lanes []int) (out map[int]tip, count int, err error) {
	text := strings.Repeat(l.sql.tip+"\nUNION ALL\n", len(lanes)) + l.sql.laneCount
	args := make([]any, 0, 2*len(lanes))
	for _, lane := range lanes {
		args = append(args, lane, lane)
	}
	out = map[int]tip{}
	err = sqlrows.Each(ctx, l.db, func(rows *sql.Rows) error {
		var lane int
		var t tip
		if err := rows.Scan(&lane, &t.next, &t.unread); err != nil {
			return err
		}
		if lane < 0 {
			count = int(t.next)
		} else {
			out[lane] = t
		}
		return nil
	}, text, args...)
	if err != nil {
		err = fmt.Errorf("mysqllog: lanes: %w", err)
	}
	return out, count, err
}

func (l *Log) lanes(ctx context.Context) ([]int, error) {
	lanes, err := sqlrows.Column[int](ctx, l.db, l.sql.lanes)
	if err != nil {
		err = fmt.Errorf("mysqllog: lanes: %w", err)
	}
	return lanes, err
}

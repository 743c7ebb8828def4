package mysqllog

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
)

// WatchInterval is how often [Log.Watch] looks when nothing comes, by default.
const WatchInterval = 100 * time.Millisecond

// Watch calls changed each time a commit, in this process or another, has left
// something that no reader has met yet. It looks every idle (WatchInterval when
// zero) as long as nothing comes, and five times as often while something does;
// one look is one statement that writes nothing. A look that fails is repeated
// after a pause, and changed is called, since something may have been missed. It
// returns ctx's error once ctx is done.
func (l *Log) Watch(ctx context.Context, idle time.Duration, changed func()) error {
	if idle <= 0 {
		idle = WatchInterval
	}
	retry := backoff.Policy{Initial: idle, Max: max(2*time.Second, idle), Multiplier: 2, Jitter: 0.2}
	busy := max(idle/5, time.Millisecond)
	wait, failures := busy, 0
	var seen map[int]int64
	for {
		lanes, err := l.Lanes(ctx)
		switch {
		case err != nil:
			failures++
			seen, wait = nil, retry.Delay(failures)
		case seen == nil || fresh(lanes, seen):
			seen, wait, failures = lanes, busy, 0
			changed()
		default:
			seen, wait = lanes, min(wait*3/2, idle)
		}
		if err := backoff.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// fresh is whether a lane has something else to read than at the last look.
// What was there then and still is was reported: its reader is busy or paused.
func fresh(now, seen map[int]int64) bool {
	for lane, id := range now {
		if seen[lane] != id {
			return true
		}
	}
	return false
}

// Lanes returns the lanes in which committed entries have no place yet, so that
// nobody has read them, with the last such entry's id. Only lanes that have or
// had a cursor are looked at.
func (l *Log) Lanes(ctx context.Context) (map[int]int64, error) {
	rows, err := l.db.QueryContext(ctx, l.sql.lanes)
	if err != nil {
		return nil, fmt.Errorf("mysqllog: lanes: %w", err)
	}
	defer rows.Close() //nolint:errcheck // Err is checked below
	out := map[int]int64{}
	for rows.Next() {
		var lane int
		var id int64
		if err := rows.Scan(&lane, &id); err != nil {
			return nil, fmt.Errorf("mysqllog: lanes: %w", err)
		}
		out[lane] = id
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("mysqllog: lanes: %w", err)
	}
	return out, nil
}

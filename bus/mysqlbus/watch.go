package mysqlbus

import (
	"context"
	"database/sql"
	_ "embed"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/log/logsub"
	"github.com/millrace-go/millrace/internal/sqlrows"
)

const (
	// busyInterval is the polling interval while messages arrive.
	busyInterval = 5 * time.Millisecond
	// groupsInterval is the least time between two reads of the groups, which change seldom.
	groupsInterval = 50 * time.Millisecond
	watchTimeout   = 30 * time.Second
)

// watcher polls for messages of other processes, since MySQL has no notifications. It uses one
// query for all lanes with a reader in this process, by their indexes and without a lock, and no
// query without readers.
type watcher struct {
	db   *sql.DB
	idle time.Duration
	log  *slog.Logger
}

//go:embed sql/watch_lanes.sql
var watchLanes string

//go:embed sql/watch_groups.sql
var watchGroups string

// state is the progress of a lane.
type state struct{ next, unread int64 }

// members is a summary that shows whether a group has changed.
type members struct{ count, last, free int64 }

// run polls until ctx is done: every busyInterval while messages arrive, then less and less
// often.
func (w *watcher) run(ctx context.Context, hub *logsub.Hub) {
	bad := backoff.Policy{Initial: 20 * time.Millisecond, Max: 2 * time.Second, Jitter: 0.3}
	seen := map[int]state{}
	var group members
	var asked time.Time
	wait, failures := busyInterval, 0
	for backoff.Sleep(ctx, wait) == nil {
		reading, member := hub.Reading()
		var now map[int]state
		var err error
		if len(reading) > 0 {
			now, err = w.look(ctx, reading)
		}
		changed := group
		if err == nil && member && time.Since(asked) >= groupsInterval {
			changed, err = w.lookAtGroups(ctx)
			asked = time.Now()
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			failures++
			wait = bad.Delay(failures)
			w.log.Warn("bus: looking for new messages failed; trying again", slog.Int("attempt", failures), slog.Any("error", err))
			hub.Wake() // every reader with messages to read finds them
			continue
		}
		failures = 0
		if changed != group {
			group = changed
			hub.WakeGroups()
		}
		fresh := slices.DeleteFunc(slices.Collect(maps.Keys(now)), func(n int) bool { return now[n] == seen[n] })
		seen = now
		if len(fresh) > 0 {
			hub.Wake(fresh...)
			wait = busyInterval
		} else {
			wait = max(busyInterval, min(wait*3/2, w.idle))
		}
	}
}

func (w *watcher) look(ctx context.Context, lanes []int) (map[int]state, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	numbers := make([]string, len(lanes))
	for i, n := range lanes {
		numbers[i] = strconv.Itoa(n)
	}
	out := make(map[int]state, len(lanes))
	err := sqlrows.Each(ctx, w.db, func(rows *sql.Rows) error {
		var lane int
		var s state
		err := rows.Scan(&lane, &s.next, &s.unread)
		out[lane] = s
		return err
	}, watchLanes+strings.Join(numbers, ",")+")")
	return out, err
}

func (w *watcher) lookAtGroups(ctx context.Context) (m members, err error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	err = w.db.QueryRowContext(ctx, watchGroups).Scan(&m.count, &m.last, &m.free)
	return m, err
}

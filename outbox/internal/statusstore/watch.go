package statusstore

import (
	"context"
	"database/sql"
	"maps"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
)

// watchQuick is how long after finding events Watch looks again.
const watchQuick = 2 * time.Millisecond

// Watch calls wake when the pending events differ from those of the last look, and after failed
// looks, since events may have been missed. After it found events it looks again 2 ms later,
// then after a tenth of the time since, up to the interval. A look is one statement that
// changes nothing. Watch returns when ctx is done.
func (s *Store) Watch(ctx context.Context, interval time.Duration, wake func()) error {
	retry := backoff.Policy{Initial: interval, Max: max(2*time.Second, interval), Jitter: 0.2}
	poll := backoff.Poll{Quick: watchQuick, Idle: interval}
	var seen map[int][2]int64
	for failures := 0; ; {
		now, err := s.ends(ctx)
		var wait time.Duration
		if err != nil {
			failures++
			seen, wait = nil, retry.Delay(failures)
		} else {
			if !maps.Equal(now, seen) {
				poll.Met()
				wake()
			}
			seen, failures, wait = now, 0, poll.Wait()
		}
		if err := backoff.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// ends returns the first and the last pending event of each shard with pending events.
func (s *Store) ends(ctx context.Context) (map[int][2]int64, error) {
	out := map[int][2]int64{}
	err := s.sql.watch.each(ctx, s.reads, func(rows *sql.Rows) error {
		var shard int
		var ends [2]int64
		if err := rows.Scan(&shard, &ends[0], &ends[1]); err != nil {
			return err
		}
		if ends[1] > 0 {
			out[shard] = ends
		}
		return nil
	})
	return out, err
}

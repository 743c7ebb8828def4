package sqlitelog

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/sqlrows"
)

// WatchInterval is the polling interval of [Watch]. A poll reads no table: SQLite compares a
// counter in shared memory.
const WatchInterval = 50 * time.Millisecond

// Watch calls changed each time another connection, in this process or another, has committed to
// the file. It keeps one connection of reader for itself. When that connection fails, it opens
// another after a pause and calls changed, since a change may have been missed. It returns ctx's
// error once ctx is done.
func Watch(ctx context.Context, reader *sql.DB, changed func()) error {
	retry := backoff.Policy{Initial: WatchInterval, Max: 2 * time.Second, Jitter: 0.2}
	for attempt := 1; ; attempt++ {
		if looked := watch(ctx, reader, changed); looked {
			attempt = 1
		}
		if err := backoff.Sleep(ctx, retry.Delay(attempt)); err != nil {
			return err
		}
	}
}

// watch polls until an error; looked reports whether the first poll succeeded.
func watch(ctx context.Context, reader *sql.DB, changed func()) (looked bool) {
	conn, err := reader.Conn(ctx)
	if err != nil {
		return false
	}
	defer conn.Close()

	tick := time.NewTicker(WatchInterval)
	defer tick.Stop()
	var seen int64
	for {
		var version int64
		if err := conn.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&version); err != nil {
			return looked
		}
		if !looked || version != seen {
			changed()
		}
		looked, seen = true, version
		select {
		case <-tick.C:
		case <-ctx.Done():
			return looked
		}
	}
}

// LanesAfter returns the lanes that have entries with an id above after, and the greatest id in
// the log.
func (l *Log) LanesAfter(ctx context.Context, after int64) (lanes []int, last int64, err error) {
	last = after
	err = sqlrows.Each(ctx, l.reader, func(rows *sql.Rows) error {
		var lane int
		var id int64
		err := rows.Scan(&lane, &id)
		lanes, last = append(lanes, lane), max(last, id)
		return err
	}, l.sql.lanesAfter, after)
	if err != nil {
		return nil, after, fmt.Errorf("sqlitelog: lanes: %w", err)
	}
	return lanes, last, nil
}

// LastID returns the greatest id in the log, from which LanesAfter can begin.
func (l *Log) LastID(ctx context.Context) (id int64, err error) {
	if err := l.reader.QueryRowContext(ctx, l.sql.lastID).Scan(&id); err != nil {
		return 0, fmt.Errorf("sqlitelog: last id: %w", err)
	}
	return id, nil
}

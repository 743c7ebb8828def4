package mysqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/sqlrows"
)

// Read implements [log.Log]. At the end of the lane it first gives places to newly committed
// rows.
func (l *Log) Read(ctx context.Context, lane int, after log.Position, max int) ([]log.Entry, log.Position, error) {
	entries, next, err := l.readOn(ctx, lane, after, max)
	if err != nil {
		return nil, after, fmt.Errorf("mysqllog: read: %w", err)
	}
	return entries, next, nil
}

// readOn reads rows with a place, and then makes passes until it has the most entries that it
// may return or the lane is at its end: a caller takes fewer entries for the end.
func (l *Log) readOn(ctx context.Context, lane int, after log.Position, max int) ([]log.Entry, log.Position, error) {
	var entries []log.Entry
	next := after
	add := func(rows []log.Entry) {
		if len(rows) > 0 {
			entries, next = append(entries, rows...), rows[len(rows)-1].Position
		}
	}
	done := passed{more: true, next: l.takeNext(lane, after, max)}
	end, placed := l.known(lane, after)
	for {
		if placed {
			rows, err := l.readAfter(ctx, lane, next, end, max-len(entries))
			if err != nil {
				return nil, after, err
			}
			add(rows)
		}
		if len(entries) == max || !done.more {
			l.keepNext(lane, next, done.next)
			return entries, next, nil
		}
		var err error
		if done, err = l.numberAndRead(ctx, lane, next, max-len(entries), max, done.next); err != nil {
			return nil, after, err
		}
		add(done.entries)
		end, placed = done.end, done.end.row != 0 && len(done.entries) == 0
	}
}

// readAfter reads rows with places after a position, up to a bound.
func (l *Log) readAfter(ctx context.Context, lane int, after log.Position, b bound, limit int) ([]log.Entry, error) {
	entries, err := l.entries(ctx, lane, b.server, l.sql.read, lane, after.ID, b.place, b.server, b.row, b.place,
		after.Row, after.Row, after.ID, after.ID, lane, limit)
	if err == nil && len(entries) > 0 {
		ids := make([]int64, len(entries))
		for i := range entries {
			ids[i] = entries[i].ID
		}
		l.saw(lane, ids, b, b)
	}
	return entries, err
}

// entries reads whole rows of a lane.
func (l *Log) entries(ctx context.Context, lane int, server, query string, args ...any) ([]log.Entry, error) {
	return sqlrows.All(ctx, l.db, func(rows *sql.Rows) (log.Entry, error) {
		e := log.Entry{Lane: lane, Position: log.Position{Server: server}}
		var created int64
		err := rows.Scan(&e.ID, &e.Position.ID, &e.Topic, &e.MessageID, &e.Key, &e.Headers, &e.Payload, &created)
		e.Position.Row, e.CreatedAt = e.ID, time.UnixMicro(created).UTC()
		return e, err
	}, query, args...)
}

// Backlog implements [log.Log]. The oldest time is that of the first entry, which can be younger
// than an entry of a longer transaction.
func (l *Log) Backlog(ctx context.Context, c log.Cursor, lanes, limit int) (n int, oldest time.Time, err error) {
	var behind []int
	for from := c.Lane; from < c.Lane+lanes && err == nil; from += backlogLanes {
		behind, err = l.behind(ctx, behind, c.Consumer, from, min(backlogLanes, c.Lane+lanes-from))
	}
	if err == nil {
		n, oldest, err = log.EachBacklog(c, lanes, func(c log.Cursor) (int, time.Time, error) {
			if !slices.Contains(behind, c.Lane) {
				return 0, time.Time{}, nil
			}
			return l.backlog(ctx, c, limit)
		})
	}
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("mysqllog: backlog: %w", err)
	}
	return n, oldest, nil
}

// backlogLanes is how many lanes one statement checks.
const backlogLanes = 64

// behind adds the lanes in which the cursor may have entries before it: usually there are none,
// and the bus checks every group every few seconds.
func (l *Log) behind(ctx context.Context, behind []int, consumer string, from, lanes int) ([]int, error) {
	args := make([]any, 0, lanes+1)
	for i := range lanes {
		args = append(args, from+i)
	}
	query := strings.Replace(l.sql.behind, "(SELECT ? AS lane)", "(SELECT ? AS lane"+strings.Repeat(" UNION ALL SELECT ?", lanes-1)+")", 1)
	more, err := sqlrows.Column[int](ctx, l.db, query, append(args, consumer)...)
	return append(behind, more...), err
}

func (l *Log) backlog(ctx context.Context, c log.Cursor, limit int) (int, time.Time, error) {
	var at int64
	err := l.db.QueryRowContext(ctx, l.sql.cursor, c.Consumer, c.Lane).Scan(&at)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, time.Time{}, err
	}
	var n int
	var oldest int64
	err = l.db.QueryRowContext(ctx, l.sql.backlog, c.Lane, at, limit, c.Lane, limit, c.Lane, at, c.Lane).Scan(&n, &oldest)
	if err != nil || n == 0 {
		return 0, time.Time{}, err
	}
	return min(n, limit), time.UnixMicro(oldest).UTC(), nil
}

package mysqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/sqllog"
)

// Read implements [sqllog.Log]. Where the lane is read to its end it first gives
// places to what has committed since.
func (l *Log) Read(ctx context.Context, lane int, after sqllog.Position, max int) ([]sqllog.Entry, sqllog.Position, error) {
	entries, next, err := l.readOn(ctx, lane, after, max)
	if err != nil {
		return nil, after, fmt.Errorf("mysqllog: read: %w", err)
	}
	return entries, next, nil
}

func (l *Log) readOn(ctx context.Context, lane int, after sqllog.Position, max int) ([]sqllog.Entry, sqllog.Position, error) {
	var entries []sqllog.Entry
	next := after
	read := func(upTo int64) (err error) {
		entries, err = l.readAfter(ctx, entries, lane, next.ID, upTo, max)
		if n := len(entries); n > 0 {
			next = entries[n-1].Position
		}
		return err
	}
	if known := l.known(lane); after.ID < known {
		if err := read(known); err != nil || len(entries) == max {
			return entries, next, err
		}
	}
	last, err := l.number(ctx, lane)
	if err == nil && last > next.ID {
		err = read(last)
	}
	return entries, next, err
}

// readAfter reads rows with places after a place, up to another, behind the entries.
func (l *Log) readAfter(ctx context.Context, entries []sqllog.Entry, lane int, after, upTo int64, limit int) ([]sqllog.Entry, error) {
	rows, err := l.db.QueryContext(ctx, l.sql.read, lane, after, upTo, limit-len(entries))
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err is checked below
	for rows.Next() {
		e := sqllog.Entry{Lane: lane}
		var created int64
		if err := rows.Scan(&e.ID, &e.Position.ID, &e.Topic, &e.MessageID, &e.Key, &e.Headers, &e.Payload, &created); err != nil {
			return nil, err
		}
		e.CreatedAt = time.UnixMicro(created).UTC()
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

// Backlog implements [sqllog.Log]. The oldest is that of the first entry, which
// can be younger than one whose transaction took longer.
func (l *Log) Backlog(ctx context.Context, c sqllog.Cursor, limit int) (int, time.Time, error) {
	var at int64
	err := l.db.QueryRowContext(ctx, l.sql.cursor, c.Consumer, c.Lane).Scan(&at)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, time.Time{}, fmt.Errorf("mysqllog: backlog: %w", err)
	}
	var n int
	var oldest int64
	err = l.db.QueryRowContext(ctx, l.sql.backlog, c.Lane, at, limit, c.Lane, limit, c.Lane, at, c.Lane).Scan(&n, &oldest)
	switch {
	case err != nil:
		return 0, time.Time{}, fmt.Errorf("mysqllog: backlog: %w", err)
	case n == 0:
		return 0, time.Time{}, nil
	}
	return min(n, limit), time.UnixMicro(oldest).UTC(), nil
}

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
	read := func(b bound) (err error) {
		entries, err = l.readAfter(ctx, entries, lane, next, b, max)
		if n := len(entries); n > 0 {
			next = entries[n-1].Position
		}
		return err
	}
	if b, ok := l.known(lane, after); ok {
		if err := read(b); err != nil || len(entries) == max {
			return entries, next, err
		}
	}
	b, rows, err := l.numberAndRead(ctx, lane, next, max-len(entries))
	switch n := len(rows); {
	case err != nil:
		return nil, after, err
	case n > 0:
		return append(entries, rows...), rows[n-1].Position, nil
	case b.row != 0:
		err = read(b)
	}
	return entries, next, err
}

// readAfter reads rows with places after a position, up to a bound, behind the entries.
func (l *Log) readAfter(ctx context.Context, entries []sqllog.Entry, lane int, after sqllog.Position, b bound, limit int) ([]sqllog.Entry, error) {
	had := len(entries)
	rows, err := l.db.QueryContext(ctx, l.sql.read, lane, after.ID, b.place, b.server, b.row, b.place,
		after.Row, after.Row, after.ID, after.ID, lane, limit-len(entries))
	if err != nil {
		return nil, err
	}
	entries, err = collect(rows, entries, lane, b.server)
	if err == nil && len(entries) > had {
		ids := make([]int64, 0, len(entries)-had)
		for _, e := range entries[had:] {
			ids = append(ids, e.ID)
		}
		l.saw(lane, ids, b, b)
	}
	return entries, err
}

// collect reads rows behind the entries, and closes them.
func collect(rows *sql.Rows, entries []sqllog.Entry, lane int, server string) ([]sqllog.Entry, error) {
	defer rows.Close() //nolint:errcheck // Err is checked below
	for rows.Next() {
		e := sqllog.Entry{Lane: lane, Position: sqllog.Position{Server: server}}
		var created int64
		if err := rows.Scan(&e.ID, &e.Position.ID, &e.Topic, &e.MessageID, &e.Key, &e.Headers, &e.Payload, &created); err != nil {
			return nil, err
		}
		e.Position.Row, e.CreatedAt = e.ID, time.UnixMicro(created).UTC()
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

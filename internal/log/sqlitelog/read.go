package sqlitelog

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/sqlrows"
)

// Read implements [log.Log].
func (l *Log) Read(ctx context.Context, lane int, after log.Position, max int) ([]log.Entry, log.Position, error) {
	next := after
	entries, err := sqlrows.All(ctx, l.reader, func(rows *sql.Rows) (log.Entry, error) {
		e := log.Entry{Lane: lane}
		var created int64
		err := rows.Scan(&e.ID, &e.Topic, &e.MessageID, &e.Key, &e.Headers, &e.Payload, &created)
		e.CreatedAt = time.UnixMicro(created).UTC()
		e.Position = log.Position{ID: e.ID}
		next = e.Position
		return e, err
	}, l.sql.read, lane, after.ID, max)
	if err != nil {
		return nil, after, fmt.Errorf("sqlitelog: read: %w", err)
	}
	return entries, next, nil
}

// Backlog implements [log.Log].
func (l *Log) Backlog(ctx context.Context, c log.Cursor, lanes, limit int) (int, time.Time, error) {
	return log.EachBacklog(c, lanes, func(c log.Cursor) (int, time.Time, error) { return l.backlog(ctx, c, limit) })
}

func (l *Log) backlog(ctx context.Context, c log.Cursor, limit int) (int, time.Time, error) {
	var n int
	var created int64
	if err := l.reader.QueryRowContext(ctx, l.sql.backlog, c.Consumer, c.Lane, limit).Scan(&n, &created); err != nil {
		return 0, time.Time{}, fmt.Errorf("sqlitelog: backlog: %w", err)
	}
	if n == 0 {
		return 0, time.Time{}, nil
	}
	return n, time.UnixMicro(created).UTC(), nil
}

// Prune implements [log.Log].
func (l *Log) Prune(ctx context.Context, lane int, before time.Time, limit int) (int, error) {
	var n int64
	res, err := l.db.ExecContext(ctx, l.sql.prune, lane, before.UnixMicro(), limit)
	if err == nil {
		n, err = res.RowsAffected()
	}
	if err != nil {
		return 0, fmt.Errorf("sqlitelog: prune: %w", err)
	}
	return int(n), nil
}

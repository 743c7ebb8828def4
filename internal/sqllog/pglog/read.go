package pglog

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/internal/sqllog"
)

// beginning is the snapshot in which no transaction is visible.
const beginning = "1:1:"

// backlogged is the size of a batch from which its plan matters.
const backlogged = 32

// covered is the snapshot whose rows a position has behind it.
func covered(p sqllog.Position) string {
	if p.From == "" {
		return beginning
	}
	return p.From
}

// Read implements [sqllog.Log]. One round trip: it reads on in the position's
// window, or opens the next one.
func (l *Log) Read(ctx context.Context, lane int, after sqllog.Position, max int) ([]sqllog.Entry, sqllog.Position, error) {
	w := window{from: covered(after), to: after.To, end: after.End}
	query, args := l.sql.readWindow, []any{lane, w.from, w.to, after.ID, after.End, max}
	if after.To == "" {
		xmax, running, err := parseSnapshot(w.from)
		if err != nil {
			return nil, after, err
		}
		query, args = l.sql.openWindow, []any{lane, w.from, xmax, running, max}
	}
	if after.To != "" && max >= backlogged {
		l.gatherStatistics(ctx) // a window of several batches: a backlog
	}
	entries, err := l.scan(ctx, lane, max, &w, query, args)
	if err != nil {
		return nil, after, fmt.Errorf("pglog: read: %w", err)
	}
	if len(entries) == 0 {
		// An open window can only run dry early when rows were deleted by hand.
		return nil, sqllog.Position{From: w.to}, nil
	}
	for i := range entries {
		entries[i].Position = w.after(entries[i].ID)
	}
	last := &entries[len(entries)-1]
	if len(entries) < max {
		last.Position = sqllog.Position{From: w.to}
	}
	return entries, last.Position, nil
}

// window is the rows between two snapshots, up to the id end.
type window struct {
	from, to string
	end      int64
}

// after is the position behind row id; behind the last row the window is closed.
func (w window) after(id int64) sqllog.Position {
	if id >= w.end {
		return sqllog.Position{From: w.to}
	}
	return sqllog.Position{From: w.from, To: w.to, End: w.end, ID: id}
}

// parseSnapshot splits a pg_snapshot "xmin:xmax:xip,xip" into its xmax and the
// array literal of the transactions that were running.
func parseSnapshot(s string) (xmax, running string, err error) {
	parts := strings.SplitN(s, ":", 3)
	if len(parts) != 3 {
		return "", "", fmt.Errorf("pglog: %q is no snapshot", s)
	}
	return parts[1], "{" + parts[2] + "}", nil
}

// Backlog implements [sqllog.Log].
func (l *Log) Backlog(ctx context.Context, c sqllog.Cursor, limit int) (int, time.Time, error) {
	var n int
	var oldest sql.NullTime
	if err := l.db.QueryRowContext(ctx, l.sql.backlog, c.Consumer, c.Lane, limit).Scan(&n, &oldest); err != nil {
		return 0, time.Time{}, fmt.Errorf("pglog: backlog: %w", err)
	}
	return n, oldest.Time, nil
}

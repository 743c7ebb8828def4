package pglog

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/sqltx"
)

// Append writes the entries in one statement inside x, those of a lane in the order given.
func (l *Log) Append(ctx context.Context, x sqltx.Execer, entries []log.Entry) error {
	n := len(entries)
	for i := range entries {
		if e := &entries[i]; len(e.Labels) != len(l.tables.Labels) {
			return fmt.Errorf("pglog: append: message %s has %d labels, the log has %d", e.MessageID, len(e.Labels), len(l.tables.Labels))
		}
	}
	switch n {
	case 0:
		return nil
	case 1: // without the arrays, which are half the cost of a single row
		return l.insert(ctx, x, l.sql.appendOne, l.tables.Values(entries[0]))
	}
	entries = log.ByLane(entries)
	if db, ok := x.(*sql.DB); ok && n >= copyRows {
		if done, err := l.copy(ctx, db, entries); err != nil {
			return fmt.Errorf("pglog: append: %w", err)
		} else if done {
			return nil
		}
	}
	lanes, payloads := make([]int32, n), make([][]byte, n)
	texts := make([][]string, 4+len(l.tables.Labels)) // topic, message id, key, headers, labels…
	for i := range texts {
		texts[i] = make([]string, n)
	}
	for i, e := range entries {
		lanes[i], payloads[i] = int32(e.Lane), sqllog.Payload(&e)
		texts[0][i], texts[1][i], texts[2][i], texts[3][i] = e.Topic, e.MessageID, e.Key, e.Headers
		for j, label := range e.Labels {
			texts[4+j][i] = label
		}
	}
	args := []any{lanes, texts[0], texts[1], texts[2], texts[3], payloads}
	for _, labels := range texts[4:] {
		args = append(args, labels)
	}
	return l.insert(ctx, x, l.sql.append, args)
}

func (l *Log) insert(ctx context.Context, x sqltx.Execer, query string, args []any) error {
	if _, err := x.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("pglog: append: %w", err)
	}
	return nil
}

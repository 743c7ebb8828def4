package pglog

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/sqltx"
)

// Prune implements [sqllog.Log].
func (l *Log) Prune(ctx context.Context, lane int, before time.Time, limit int) (int, error) {
	res, err := l.db.ExecContext(ctx, l.sql.prune, lane, before, limit)
	if err != nil {
		return 0, fmt.Errorf("pglog: prune: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("pglog: prune: %w", err)
	}
	return int(n), nil
}

// Rebase implements [sqllog.Log].
func (l *Log) Rebase(ctx context.Context, c sqllog.Cursor, since time.Time) error {
	err := sqltx.Do(ctx, l.db, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, l.sql.rebaseRows, c.Lane); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, l.sql.rebaseCursors, c.Lane, since)
		return err
	})
	if err != nil {
		return fmt.Errorf("pglog: rebase lane %d: %w", c.Lane, err)
	}
	return nil
}

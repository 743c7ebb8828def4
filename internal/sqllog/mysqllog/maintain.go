package mysqllog

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/millrace-go/millrace/internal/sqllog"
)

// Prune implements [sqllog.Log].
func (l *Log) Prune(ctx context.Context, lane int, before time.Time, limit int) (int, error) {
	n, err := l.prune(ctx, lane, before, limit)
	if err != nil {
		return 0, fmt.Errorf("mysqllog: prune: %w", err)
	}
	return n, nil
}

// prune finds the rows by a read that takes no lock and deletes them by their
// ids. A single statement would lock what it looks at, and at REPEATABLE READ
// the gaps that others append to.
func (l *Log) prune(ctx context.Context, lane int, before time.Time, limit int) (int, error) {
	var passed sql.NullInt64
	if err := l.db.QueryRowContext(ctx, l.sql.passed, lane).Scan(&passed); err != nil {
		return 0, err
	}
	from, to := int64(1), passed.Int64
	if !passed.Valid { // nobody reads this lane, so age alone decides
		from, to = 0, math.MaxInt64
	}
	ids, err := l.old(ctx, lane, from, to, before, limit)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	res, err := l.db.ExecContext(ctx, l.sql.delete, list(ids))
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

func (l *Log) old(ctx context.Context, lane int, from, to int64, before time.Time, limit int) ([]int64, error) {
	rows, err := l.db.QueryContext(ctx, l.sql.old, lane, from, to, limit, before.UnixMicro())
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err is checked below
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// Rebase implements [sqllog.Log]. What has committed gets its place first, so
// that a time can be told from places.
func (l *Log) Rebase(ctx context.Context, c sqllog.Cursor, since time.Time) error {
	var at int64
	err := l.numberAll(ctx, c.Lane)
	if err == nil {
		err = l.db.QueryRowContext(ctx, l.sql.since, c.Lane, since.UnixMicro(), c.Lane).Scan(&at)
	}
	if err == nil {
		_, err = l.db.ExecContext(ctx, l.sql.rebase, c.Consumer, c.Lane, at)
	}
	if err != nil {
		return fmt.Errorf("mysqllog: rebase: %w", err)
	}
	return nil
}

// numberAll runs passes until one finds nothing to do.
func (l *Log) numberAll(ctx context.Context, lane int) error {
	for before := int64(-1); ; {
		last, err := l.number(ctx, lane)
		if err != nil || last == before {
			return err
		}
		before = last
	}
}

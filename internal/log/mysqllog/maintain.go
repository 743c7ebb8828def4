package mysqllog

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/sqlrows"
)

// Prune implements [log.Log].
func (l *Log) Prune(ctx context.Context, lane int, before time.Time, limit int) (int, error) {
	n, err := l.prune(ctx, lane, before, limit)
	if err != nil {
		return 0, fmt.Errorf("mysqllog: prune: %w", err)
	}
	return n, nil
}

// prune finds the rows with a read that takes no lock and deletes them by their ids. A single
// statement would lock the rows it reads, and at REPEATABLE READ the gaps into which others
// append. It continues behind the rows it has deleted: a read passes over the deleted entries as
// long as a snapshot prevents their purge.
func (l *Log) prune(ctx context.Context, lane int, before time.Time, limit int) (int, error) {
	var passed sql.NullInt64
	var server string
	if err := l.db.QueryRowContext(ctx, l.sql.passed, lane).Scan(&passed, &server); err != nil {
		return 0, err
	}
	from, to := l.prunedUpTo(lane, server)+1, passed.Int64
	if !passed.Valid { // the lane has no reader, so only age decides
		from, to = 0, math.MaxInt64
	}
	ids, upTo, err := l.old(ctx, lane, from, to, before, limit)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	res, err := l.db.ExecContext(ctx, l.sql.delete, list(ids))
	if err != nil {
		return 0, err
	}
	if passed.Valid && upTo > 0 {
		l.pruned.Store(lane, bound{server: server, place: upTo})
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// prunedUpTo returns a place up to which all rows are pruned, as known to this process on this
// server.
func (l *Log) prunedUpTo(lane int, server string) int64 {
	v, _ := l.pruned.Load(lane)
	if b, _ := v.(bound); b.server == server {
		return b.place
	}
	return 0
}

// old returns the old rows among the first ones between two places, and the place up to which
// all are old; 0 when there is none.
func (l *Log) old(ctx context.Context, lane int, from, to int64, before time.Time, limit int) (ids []int64, upTo int64, err error) {
	young := false
	err = sqlrows.Each(ctx, l.db, func(rows *sql.Rows) error {
		var id, place int64
		var old bool
		if err := rows.Scan(&id, &place, &old); err != nil {
			return err
		}
		if young = young || !old; !young {
			upTo = place
		}
		if old {
			ids = append(ids, id)
		}
		return nil
	}, l.sql.old, before.UnixMicro(), lane, from, to, limit)
	return ids, upTo, err
}

// Rebase is that of sqllog.Log. Committed rows first get their places, so that a time can be
// mapped to a place.
func (l *Log) Rebase(ctx context.Context, c log.Cursor, since time.Time) error {
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

// numberAll runs passes until no row is left.
func (l *Log) numberAll(ctx context.Context, lane int) error {
	for before := (bound{}); ; {
		last, err := l.number(ctx, lane, log.Position{})
		if err != nil || last == before {
			return err
		}
		before = last
	}
}

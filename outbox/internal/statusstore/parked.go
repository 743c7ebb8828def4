package statusstore

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
	"github.com/millrace-go/millrace/sqltx"
)

// Parked implements driver.Parking.
func (s *Store) Parked(ctx context.Context, after int64, limit int) ([]driver.ParkedEvent, error) {
	var out []driver.ParkedEvent
	err := s.sql.failedList.each(ctx, s.reads, func(rows *sql.Rows) error {
		p, err := sqlstore.ScanParked(rows)
		out = append(out, p)
		return err
	}, after, limit)
	return out, wrap("list parked events", err)
}

// Failing implements driver.Failing, shard by shard, because the indexes begin with
// the shard.
func (s *Store) Failing(ctx context.Context, after int64, limit int) ([]driver.FailingEvent, error) {
	var out []driver.FailingEvent
	for shard := range s.shards {
		err := s.sql.failing.each(ctx, s.reads, func(rows *sql.Rows) error {
			f, err := sqlstore.ScanFailing(rows)
			out = append(out, f)
			return err
		}, shard, after, limit)
		if err != nil {
			return nil, wrap("list failing events", err)
		}
		slices.SortFunc(out, func(a, b driver.FailingEvent) int { return cmp.Compare(a.ID, b.ID) })
		out = out[:min(len(out), max(limit, 0))]
	}
	return out, nil
}

// Retry implements driver.Parking: the events are appended again, with a new row
// and their old ids, in the transaction that deletes the old rows.
func (s *Store) Retry(ctx context.Context, ids ...int64) (n int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	err = sqltx.Do(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
		var rows []log.Entry
		var taken []int64
		err := s.sql.failedTake.each(ctx, tx, func(r *sql.Rows) error {
			e := log.Entry{Labels: make([]string, 3)}
			if err := r.Scan(&e.ID, &e.Lane, &e.MessageID, &e.Topic, &e.Key, &e.Headers, &e.Payload,
				&e.Labels[0], &e.Labels[1], &e.Labels[2]); err != nil {
				return err
			}
			rows, taken = append(rows, e), append(taken, e.ID)
			return nil
		}, s.ids(ids))
		if n = len(rows); err != nil || n == 0 {
			return err
		}
		if _, err := s.sql.failedDrop.exec(ctx, tx, s.ids(taken)); err != nil {
			return err
		}
		sqltx.AfterCommit(ctx, s.Wake)
		return s.append(ctx, tx, rows)
	})
	if err != nil {
		return 0, wrap("retry", err)
	}
	return n, nil
}

// RetryAll implements driver.Parking, in transactions of bounded size.
func (s *Store) RetryAll(ctx context.Context) (int, error) { return sqlstore.RetryAll(ctx, s) }

// Prune implements driver.Pruner. It only reads the first published rows, because their numbers
// grow with age. While there are old rows, the next call continues behind the deleted ones: if
// a snapshot keeps deleted row versions, it would otherwise read past them each time. Then it
// begins again with the first, because rows may be published late. Failed rows stay until they
// are retried or deleted.
func (s *Store) Prune(ctx context.Context, shard int, before time.Time, limit int) (int, error) {
	var ids []int64
	err := s.sql.pruneFind.each(ctx, s.reads, func(rows *sql.Rows) error {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
		return nil
	}, shard, before.UnixMicro(), limit, s.pruned[shard].Load())
	if err != nil {
		return 0, wrap("prune", err)
	}
	if len(ids) < limit {
		s.pruned[shard].Store(0)
	} else {
		s.pruned[shard].Store(ids[len(ids)-1])
	}
	if len(ids) == 0 {
		return 0, nil
	}
	n, err := s.sql.prune.exec(ctx, s.db, shard, s.ids(ids))
	return int(n), wrap("prune", err)
}

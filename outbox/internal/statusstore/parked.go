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
	out, err := all(ctx, s.reads, s.sql.failedList, sqlstore.ScanParked, after, limit)
	return out, wrap("list parked events", err)
}

// Failing implements driver.Failing, shard by shard, because the indexes begin with
// the shard.
func (s *Store) Failing(ctx context.Context, after int64, limit int) ([]driver.FailingEvent, error) {
	var out []driver.FailingEvent
	for shard := range s.shards {
		failing, err := all(ctx, s.reads, s.sql.failing, sqlstore.ScanFailing, shard, after, limit)
		if err != nil {
			return nil, wrap("list failing events", err)
		}
		out = append(out, failing...)
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
		rows, err := all(ctx, tx, s.sql.failedTake, func(r *sql.Rows) (log.Entry, error) {
			e := log.Entry{Labels: make([]string, 3)}
			err := r.Scan(&e.ID, &e.Lane, &e.MessageID, &e.Topic, &e.Key, &e.Headers, &e.Payload,
				&e.Labels[0], &e.Labels[1], &e.Labels[2])
			e.Lane = log.LaneOf(e.Key, s.shards) // the number of shards may be another one by now
			return e, err
		}, s.ids(ids))
		if n = len(rows); err != nil || n == 0 {
			return err
		}
		taken := make([]int64, n)
		for i, e := range rows {
			taken[i] = e.ID
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
	ids, err := all(ctx, s.reads, s.sql.pruneFind, func(rows *sql.Rows) (id int64, err error) {
		err = rows.Scan(&id)
		return id, err
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

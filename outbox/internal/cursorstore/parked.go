package cursorstore

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/sqlrows"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/headers"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
	"github.com/millrace-go/millrace/sqltx"
)

// Parked implements driver.Parking.
func (s *Store) Parked(ctx context.Context, after int64, limit int) ([]driver.ParkedEvent, error) {
	out, err := sqlrows.All(ctx, s.db, sqlstore.ScanParked, s.sql.failedList, after, limit)
	return out, wrap("list parked events", err)
}

// Failing implements driver.Failing.
func (s *Store) Failing(ctx context.Context, after int64, limit int) ([]driver.FailingEvent, error) {
	out, err := sqlrows.All(ctx, s.db, sqlstore.ScanFailing, s.sql.failing, after, limit)
	return out, wrap("list failing events", err)
}

// Retry implements driver.Parking: the events are appended again, with a new row
// and their old ids, in the transaction that takes them from outbox_failed.
func (s *Store) Retry(ctx context.Context, ids ...int64) (n int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	array := sqlstore.Array(ids)
	err = sqltx.Do(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
		entries, err := s.takeFailed(ctx, tx, array)
		if n = len(entries); err != nil || n == 0 {
			return err
		}
		sqltx.AfterCommit(ctx, s.Wake)
		return s.log.Append(ctx, tx, entries)
	})
	if err != nil {
		return 0, wrap("retry", err)
	}
	return n, nil
}

// RetryAll implements driver.Parking, in transactions of bounded size.
func (s *Store) RetryAll(ctx context.Context) (int, error) { return sqlstore.RetryAll(ctx, s) }

func (s *Store) takeFailed(ctx context.Context, tx *sql.Tx, ids string) ([]log.Entry, error) {
	entries, err := sqlrows.All(ctx, tx, func(rows *sql.Rows) (e log.Entry, err error) {
		if err := rows.Scan(&e.ID, &e.Topic, &e.MessageID, &e.Key, &e.Headers, &e.Payload); err != nil {
			return e, err
		}
		e.Lane, e.Labels = log.LaneOf(e.Key, s.shards), relabel(e)
		return e, nil
	}, s.sql.failedTake, ids)
	if err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, s.sql.failedDelete, ids); err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b log.Entry) int { return cmp.Compare(a.ID, b.ID) })
	return entries, nil
}

// relabel reads the labels from the message. A message that only its own codec can read gets no
// labels: the relay does not need them.
func relabel(e log.Entry) []string {
	msg := message.NewMessage(e.MessageID, e.Payload)
	var d headers.Decoder
	if err := d.Decode(msg.Metadata, e.Headers, e.Key); err != nil {
		return labels(event.Event{})
	}
	decoded, err := event.Decode(msg)
	if err != nil {
		return labels(event.Event{})
	}
	return labels(decoded)
}

// Stats implements driver.Inspector.
func (s *Store) Stats(ctx context.Context) ([]driver.ShardStats, error) {
	out := make([]driver.ShardStats, s.shards)
	for i := range out {
		n, oldest, err := s.log.Backlog(ctx, s.cursor(i), 1, driver.BacklogLimit)
		if err != nil {
			return nil, wrap("stats", err)
		}
		out[i] = driver.ShardStats{Shard: i, Backlog: n, Oldest: oldest}
	}
	var shard int
	at := func() *driver.ShardStats {
		if shard < len(out) {
			return &out[shard]
		}
		return &driver.ShardStats{} // only parked events are left there: the number of shards is checked
	}
	err := sqlrows.Each(ctx, s.db, func(rows *sql.Rows) error {
		var aside, failing int
		var oldest int64
		if err := rows.Scan(&shard, &aside, &failing, &oldest); err != nil {
			return err
		}
		st := at()
		st.Aside, st.Failing = aside, failing
		st.Backlog = min(st.Backlog+aside, driver.BacklogLimit)
		if t := time.UnixMicro(oldest); oldest > 0 && (st.Oldest.IsZero() || t.Before(st.Oldest)) {
			st.Oldest = t
		}
		return nil
	}, s.sql.retriesCount)
	if err == nil {
		err = sqlrows.Each(ctx, s.db, func(rows *sql.Rows) error {
			var n int
			if err := rows.Scan(&shard, &n); err != nil {
				return err
			}
			out[sqlstore.ParkedIn(shard, len(out))].Parked += n
			return nil
		}, s.sql.failedCount)
	}
	if err == nil {
		err = sqlrows.Each(ctx, s.db, func(rows *sql.Rows) error {
			var name string
			if err := rows.Scan(&shard, &name); err != nil {
				return err
			}
			at().Holder = name
			return nil
		}, s.sql.owner, consumer)
	}
	return out, wrap("stats", err)
}

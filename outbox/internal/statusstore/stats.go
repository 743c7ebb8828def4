package statusstore

import (
	"context"
	"database/sql"

	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
)

// Stats implements driver.Inspector.
func (s *Store) Stats(ctx context.Context) ([]driver.ShardStats, error) {
	out := make([]driver.ShardStats, s.shards)
	for i := range out {
		if err := s.count(ctx, i, &out[i]); err != nil {
			return nil, wrap("stats", err)
		}
	}
	// Of a shard out of range only parked events are left: the number of shards is checked.
	var shard int
	err := s.sql.failCounts.each(ctx, s.reads, func(rows *sql.Rows) error {
		var n int
		if err := rows.Scan(&shard, &n); err != nil {
			return err
		}
		out[sqlstore.ParkedIn(shard, len(out))].Parked += n
		return nil
	})
	if err == nil {
		err = s.sql.holders.each(ctx, s.reads, func(rows *sql.Rows) error {
			var name string
			if err := rows.Scan(&shard, &name); err != nil {
				return err
			}
			if shard < len(out) {
				out[shard].Holder = name
			}
			return nil
		})
	}
	return out, wrap("stats", err)
}

// count sets the counts of a shard's waiting events.
func (s *Store) count(ctx context.Context, shard int, st *driver.ShardStats) error {
	var token, oldest int64
	var position string
	if _, err := s.sql.leaseGet.one(ctx, s.reads, &token, &position)(shard); err != nil {
		return err
	}
	behind, err := s.reader.Behind(position)
	if err != nil {
		return err
	}
	args := append([]any{shard, driver.BacklogLimit}, behind...)
	if _, err := s.sql.backlog.one(ctx, s.reads, &st.Backlog, &oldest, &st.Aside, &st.Failing)(args...); err != nil {
		return err
	}
	st.Shard, st.Backlog, st.Oldest = shard, min(st.Backlog, driver.BacklogLimit), sqlstore.Instant(oldest)
	return nil
}

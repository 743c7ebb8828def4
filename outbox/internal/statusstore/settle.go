package statusstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"

	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
	"github.com/millrace-go/millrace/sqltx"
)

// Settle implements driver.Store. Its first statement changes the lease's row, by its token, so
// that a holder that lost the lease marks no rows, and a new holder waits for the whole
// transaction. Rows are also marked by their event's id: after a failover another event may
// have the seq.
func (s *Store) Settle(ctx context.Context, l driver.Lease, set driver.Settlement) error {
	position := ""
	if set.Move != nil {
		position = s.reader.Position(set.Move)
	}
	ttl := set.TTL.Microseconds()
	seqs, ids := make([]int64, len(set.Published)), make([]string, len(set.Published))
	for i, it := range set.Published {
		seqs[i], ids[i] = it.ID, it.MessageID
	}
	switch {
	case len(ids) == 0 && len(set.Failures) == 0:
		n, err := s.sql.extend.exec(ctx, s.db, l.Shard, l.Token, ttl, position)
		return settled("renew", n, err)
	case len(set.Failures) == 0 && !s.sql.settle.empty():
		var n int64
		var err error
		args := []any{l.Shard, l.Token, ttl, position}
		if first, last := slices.Min(seqs), slices.Max(seqs); !s.sql.settleRange.empty() && last-first < 2*int64(len(seqs)) {
			_, err = s.sql.settleRange.one(ctx, s.db, &n)(append(append(args, first, last), s.rows(seqs, ids)...)...)
		} else {
			_, err = s.sql.settle.one(ctx, s.db, &n)(append(args, s.rows(seqs, ids)...)...)
		}
		return settled("settle", n, err)
	}
	err := sqltx.Do(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
		n, err := s.sql.extend.exec(ctx, tx, l.Shard, l.Token, ttl, position)
		if err != nil {
			return err
		}
		if n == 0 {
			return driver.ErrLeaseLost
		}
		if len(ids) > 0 {
			if _, err := s.sql.publish.exec(ctx, tx, append([]any{l.Shard}, s.rows(seqs, ids)...)...); err != nil {
				return err
			}
		}
		return s.note(ctx, tx, l.Shard, set.Failures)
	})
	return wrap("settle", err)
}

func settled(doing string, n int64, err error) error {
	if err == nil && n == 0 {
		err = driver.ErrLeaseLost
	}
	return wrap(doing, err)
}

// pairs returns rows as a JSON array of [seq, id]. Ids are UUIDs, which need no escapes.
func pairs(seqs []int64, ids []string) []any {
	text := append(make([]byte, 0, 2+len(seqs)*50), '[')
	for i, seq := range seqs {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(strconv.AppendInt(append(text, '['), seq, 10), `,"`...)
		text = append(append(text, ids[i]...), `"]`...)
	}
	return []any{string(append(text, ']'))}
}

// note stores the failures.
func (s *Store) note(ctx context.Context, tx *sql.Tx, shard int, failures []driver.Failure) error {
	for _, f := range failures {
		text := sql.NullString{String: sqlstore.Clean(f.Error), Valid: f.Attempts > 0}
		var err error
		if f.State == driver.Parked {
			_, err = s.sql.park.exec(ctx, tx, shard, f.Item.ID, max(f.Attempts, 1), f.Retries, f.Age.Microseconds(), text, f.Item.MessageID)
		} else {
			_, err = s.sql.fail.exec(ctx, tx, shard, f.Item.ID, f.State == driver.MovedAside,
				f.Attempts, f.Retries, f.Age.Microseconds(), text, f.Wait.Microseconds(), f.Item.MessageID)
		}
		if err != nil {
			return fmt.Errorf("note that event %q failed: %w", f.Item.MessageID, err)
		}
	}
	return nil
}

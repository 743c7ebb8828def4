package statusstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
	"github.com/millrace-go/millrace/sqltx"
)

// Settle implements outbox.Store. The lease's row is met first, and by its
// token, so that a holder who lost the lease marks nothing, and a new holder
// waits for all of it.
func (s *Store) Settle(ctx context.Context, l outbox.Lease, set outbox.Settlement) error {
	position := ""
	if set.Move != nil {
		position = s.reader.Position(set.Move)
	}
	ttl := set.TTL.Microseconds()
	ids := make([]int64, len(set.Published))
	for i, it := range set.Published {
		ids[i] = it.ID
	}
	switch {
	case len(ids) == 0 && len(set.Failures) == 0:
		n, err := s.sql.extend.exec(ctx, s.db, l.Shard, l.Token, ttl, position)
		return settled("renew", n, err)
	case len(set.Failures) == 0 && !s.sql.settle.empty():
		var n int64
		var err error
		if first, last := slices.Min(ids), slices.Max(ids); !s.sql.settleRange.empty() && last-first < 2*int64(len(ids)) {
			_, err = s.sql.settleRange.one(ctx, s.db, &n)(l.Shard, l.Token, ttl, position, s.ids(ids), first, last)
		} else {
			_, err = s.sql.settle.one(ctx, s.db, &n)(l.Shard, l.Token, ttl, position, s.ids(ids))
		}
		return settled("settle", n, err)
	}
	err := sqltx.Do(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
		n, err := s.sql.extend.exec(ctx, tx, l.Shard, l.Token, ttl, position)
		if err != nil {
			return err
		}
		if n == 0 {
			return outbox.ErrLeaseLost
		}
		if len(ids) > 0 {
			if _, err := s.sql.publish.exec(ctx, tx, l.Shard, s.ids(ids)); err != nil {
				return err
			}
		}
		return s.note(ctx, tx, l.Shard, set.Failures)
	})
	return wrap("settle", err)
}

func settled(doing string, n int64, err error) error {
	if err == nil && n == 0 {
		err = outbox.ErrLeaseLost
	}
	return wrap(doing, err)
}

// note writes down what failed.
func (s *Store) note(ctx context.Context, tx *sql.Tx, shard int, failures []outbox.Failure) error {
	for _, f := range failures {
		text := sql.NullString{String: sqlstore.Clean(f.Error), Valid: f.Attempts > 0}
		var err error
		if f.State == outbox.Parked {
			_, err = s.sql.park.exec(ctx, tx, shard, f.Item.ID, max(f.Attempts, 1), f.Retries, f.Age.Microseconds(), text)
		} else {
			_, err = s.sql.fail.exec(ctx, tx, shard, f.Item.ID, f.State == outbox.MovedAside,
				f.Attempts, f.Retries, f.Age.Microseconds(), text, f.Wait.Microseconds())
		}
		if err != nil {
			return fmt.Errorf("note that event %q failed: %w", f.Item.MessageID, err)
		}
	}
	return nil
}

package sqlidempotency

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/millrace-go/millrace/sqltx"
)

// Recorded counts the recorded keys; see driver.Forgetter.
func (s *store) Recorded(ctx context.Context, keys []string) (n int, err error) {
	err = s.some(keys, func(text string) error {
		var some int
		err := s.db.QueryRowContext(ctx, s.recorded, text).Scan(&some)
		n += some
		return err
	})
	return n, wrap(err, "count %d keys", len(keys))
}

// Forget deletes keys, a thousand in a transaction; see driver.Forgetter. It waits for a
// transaction that is about to commit the effect of a key.
func (s *store) Forget(ctx context.Context, keys []string) (n int, err error) {
	err = s.some(keys, func(text string) error {
		var some int64
		err := sqltx.Do(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
			res, err := tx.ExecContext(ctx, s.forget, text)
			if err == nil {
				some, err = res.RowsAffected()
			}
			return err
		})
		n += int(some)
		return err
	})
	return n, wrap(err, "forget %d keys", len(keys))
}

// some calls do with the keys in chunks, as JSON, without the repeated ones, sorted like
// batches.
func (s *store) some(keys []string, do func(text string) error) error {
	ids := make([][]string, len(keys))
	for i, key := range keys {
		id, err := s.cfg.id(key)
		if err != nil {
			return err
		}
		ids[i] = id
	}
	slices.SortFunc(ids, slices.Compare)
	ids = slices.CompactFunc(ids, slices.Equal)
	for rows := range slices.Chunk(ids, chunk) {
		text, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		if err := do(string(text)); err != nil {
			return err
		}
	}
	return nil
}

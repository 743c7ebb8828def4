package statusstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/sqltx"
)

const shardsSetting = "shards"

// Shards implements outbox.Store.
func (s *Store) Shards(ctx context.Context) (int, error) {
	if _, err := s.sql.settingPut.exec(ctx, s.db, shardsSetting, strconv.Itoa(s.shards)); err != nil {
		return 0, wrap("store the number of shards", err)
	}
	var stored string
	if _, err := s.sql.settingGet.one(ctx, s.db, &stored)(shardsSetting); err != nil {
		return 0, wrap("read the number of shards", err)
	}
	if stored != strconv.Itoa(s.shards) {
		return 0, s.mismatch(stored)
	}
	s.checked.Store(true)
	return s.shards, nil
}

// check compares the number of shards within the caller's transaction, because
// the pool may have no second connection to give.
func (s *Store) check(ctx context.Context, tx sqltx.Execer) error {
	for range 2 {
		n, err := s.sql.settingCheck.exec(ctx, tx, shardsSetting, strconv.Itoa(s.shards))
		if err != nil {
			return fmt.Errorf("check the number of shards: %w", err)
		}
		if n > 0 {
			s.checked.Store(true)
			return nil
		}
		n, err = s.sql.settingPut.exec(ctx, tx, shardsSetting, strconv.Itoa(s.shards))
		if err != nil {
			return fmt.Errorf("store the number of shards: %w", err)
		}
		if n > 0 {
			return nil // ours, if this transaction commits; so the next one looks again
		}
	}
	return s.mismatch("another number")
}

func (s *Store) mismatch(stored string) error {
	return fmt.Errorf("%w: StatusConfig.Shards is %d, the tables were made for %s; configure that number, "+
		"or drain the outbox, stop every writer and relay, and change it in outbox_event_settings", outbox.ErrShards, s.shards, stored)
}

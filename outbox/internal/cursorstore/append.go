package cursorstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/internal/headers"
	"github.com/millrace-go/millrace/sqltx"
)

const shardsSetting = "shards"

// Append implements outbox.Store. The first Append of a process takes one
// statement more, which makes sure that the number of shards is the stored one.
func (s *Store) Append(ctx context.Context, tx sqltx.Execer, records []outbox.Record) error {
	if !s.checked.Load() {
		if err := s.check(ctx, tx); err != nil {
			return err
		}
	}
	entries := make([]sqllog.Entry, len(records))
	for i, r := range records {
		key := r.Event.Key()
		h, err := headers.Encode(r.Message.Metadata, key)
		if err != nil {
			return fmt.Errorf("event %q: %w", r.Event.ID, err)
		}
		entries[i] = sqllog.Entry{
			Lane: sqllog.LaneOf(key, s.shards), Topic: r.Topic, MessageID: r.Message.UUID,
			Key: key, Headers: h, Payload: r.Message.Payload, Labels: labels(r.Event),
		}
	}
	return s.log.Append(ctx, tx, entries)
}

func labels(e event.Event) []string { return []string{e.Type, e.AggregateType, e.AggregateID} }

// check compares the number of shards within the caller's transaction, because
// the pool may have no second connection to give.
func (s *Store) check(ctx context.Context, tx sqltx.Execer) error {
	for range 2 {
		n, err := affected(tx.ExecContext(ctx, s.sql.settingsCheck, shardsSetting, strconv.Itoa(s.shards)))
		if err != nil {
			return fmt.Errorf("check the number of shards: %w", err)
		}
		if n > 0 {
			s.checked.Store(true)
			return nil
		}
		n, err = affected(tx.ExecContext(ctx, s.sql.settingsPut, shardsSetting, strconv.Itoa(s.shards)))
		if err != nil {
			return fmt.Errorf("store the number of shards: %w", err)
		}
		if n > 0 {
			return nil // ours, if this transaction commits; so the next one looks again
		}
	}
	return s.mismatch("another number")
}

// Shards implements outbox.Store.
func (s *Store) Shards(ctx context.Context) (int, error) {
	if _, err := s.db.ExecContext(ctx, s.sql.settingsPut, shardsSetting, strconv.Itoa(s.shards)); err != nil {
		return 0, fmt.Errorf("outbox: store the number of shards: %w", err)
	}
	var stored string
	err := s.db.QueryRowContext(ctx, s.sql.settingsGet, shardsSetting).Scan(&stored)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("outbox: read the number of shards: %w", err)
	}
	if stored != strconv.Itoa(s.shards) {
		return 0, s.mismatch(stored)
	}
	s.checked.Store(true)
	return s.shards, nil
}

func (s *Store) mismatch(stored string) error {
	return fmt.Errorf("%w: Config.Shards is %d, the tables were made for %s; configure that number, "+
		"or drain the outbox, stop every writer and relay, and change it in outbox_settings", outbox.ErrShards, s.shards, stored)
}

func affected(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

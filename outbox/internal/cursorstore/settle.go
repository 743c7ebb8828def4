package cursorstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
	"github.com/millrace-go/millrace/sqltx"
)

// Settle implements driver.Store. It runs one statement if no item failed, and otherwise a
// transaction that includes the cursor's move.
func (s *Store) Settle(ctx context.Context, l driver.Lease, set driver.Settlement) error {
	t, err := tenureOf(l)
	if err != nil {
		return err
	}
	gone := recovered(set.Published)
	alone := len(gone) == 0 && len(set.Failures) == 0
	t.mu.Lock()
	defer t.mu.Unlock()
	to := t.lease.Position
	moved, ok := set.Move.(*log.Position)
	if ok {
		to = *moved
	}
	if !ok && alone {
		return wrap("renew", s.log.Renew(ctx, set.TTL, t.lease))
	}
	if alone {
		err = s.log.Advance(ctx, t.lease, to, set.TTL)
	} else {
		err = sqltx.Do(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
			if err := s.log.Advance(ctx, t.lease, to, set.TTL); err != nil {
				return err
			}
			return s.note(ctx, tx, l.Shard, gone, set.Failures)
		})
	}
	if err != nil {
		return wrap("settle", err)
	}
	t.lease.Position = to
	return nil
}

// recovered returns the ids of published items that have their own row.
func recovered(published []*driver.Item) (ids []int64) {
	for _, it := range published {
		if it.Attempts > 0 || it.Mark == nil {
			ids = append(ids, it.ID)
		}
	}
	return ids
}

func (s *Store) note(ctx context.Context, tx *sql.Tx, shard int, gone []int64, failures []driver.Failure) error {
	var put, fail statement
	defer put.close()
	defer fail.close()
	for _, f := range failures {
		it := f.Item
		text := sqlstore.Clean(f.Error)
		var err error
		switch {
		case f.State == driver.Parked:
			gone = append(gone, it.ID)
			_, err = tx.ExecContext(ctx, s.sql.failedPut, it.ID, shard, it.Topic, it.MessageID, it.Key, it.Headers,
				bytesOf(it.Payload), it.CreatedAt.UnixMicro(), f.Attempts, text)
		case it.Mark == nil:
			err = fail.exec(ctx, tx, s.sql.retryFail, it.ID, f.Attempts, f.Age.Microseconds(), text, f.Wait.Microseconds())
		default:
			aside := f.State == driver.MovedAside
			var payload []byte // null: the log has the payload
			if aside {
				payload = bytesOf(it.Payload)
			}
			err = put.exec(ctx, tx, s.sql.retryPut, it.ID, shard, it.Topic, it.MessageID, it.Key, it.Headers, payload,
				it.CreatedAt.UnixMicro(), aside, f.Attempts, f.Age.Microseconds(), text, f.Wait.Microseconds())
		}
		if err != nil {
			return fmt.Errorf("note that event %q failed: %w", it.MessageID, err)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, s.sql.retryDelete, sqlstore.Array(gone)); err != nil {
		return fmt.Errorf("forget retries: %w", err)
	}
	return nil
}

// statement is prepared at its first use.
type statement struct{ stmt *sql.Stmt }

func (p *statement) exec(ctx context.Context, tx *sql.Tx, text string, args ...any) error {
	if p.stmt == nil {
		var err error
		if p.stmt, err = tx.PrepareContext(ctx, text); err != nil {
			return err
		}
	}
	_, err := p.stmt.ExecContext(ctx, args...)
	return err
}

func (p *statement) close() {
	if p.stmt != nil {
		p.stmt.Close() //nolint:errcheck // the transaction's outcome is what counts
	}
}

// bytesOf returns an empty payload for nil, which would become null.
func bytesOf(p []byte) []byte {
	if p == nil {
		return []byte{}
	}
	return p
}

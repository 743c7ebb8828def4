package outboxtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/sqltx"
)

// write appends until ctx is done. The current transaction is ended properly.
func (s *stress) write(ctx context.Context) error {
	rolledBack := errors.New("rolled back on purpose")
	detached := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		var e event.Event
		err := sqltx.Do(detached, s.cfg.DB, func(ctx context.Context, tx *sql.Tx) error {
			s.mu.Lock()
			open := s.open
			s.mu.Unlock()
			if rand.IntN(2) == 0 {
				// Half of the transactions have their number before the lock.
				if _, err := tx.ExecContext(ctx, `INSERT INTO stress_noise (n) VALUES (1)`); err != nil {
					return err
				}
			}
			id := rand.IntN(s.cfg.Keys)
			if _, err := tx.ExecContext(ctx, fmt.Sprintf(`UPDATE stress_aggregates SET version = version + 1 WHERE id = %d`, id)); err != nil {
				return err
			}
			var version int
			err := tx.QueryRowContext(ctx, fmt.Sprintf(`SELECT version FROM stress_aggregates WHERE id = %d`, id)).Scan(&version)
			if err != nil {
				return err
			}
			if e, err = NewEvent(fmt.Sprint("aggregate-", id), version); err != nil {
				return err
			}
			s.mu.Lock()
			s.began[e.ID] = open
			s.mu.Unlock()
			if err := s.box.Append(ctx, tx, e); err != nil {
				return err
			}
			if err := backoff.Sleep(ctx, rand.N(s.cfg.MaxDelay)); err != nil {
				return err
			}
			if rand.IntN(100) < s.cfg.Rollback {
				return rolledBack
			}
			return nil
		})
		switch {
		case err == nil:
			s.mu.Lock()
			s.commits[e.ID] = time.Now()
			s.mu.Unlock()
		case errors.Is(err, rolledBack):
			s.mu.Lock()
			s.taken[e.ID] = true
			s.mu.Unlock()
		case s.cfg.Faults == nil:
			return fmt.Errorf("write: %w", err)
		default:
			_ = backoff.Sleep(ctx, 20*time.Millisecond) // the server fails on purpose
		}
	}
	return nil
}

// unrelated holds a transaction open that does not touch the outbox, until an event has been
// published beside it.
func (s *stress) unrelated(ctx context.Context) error {
	detached := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		err := sqltx.Do(detached, s.cfg.Unrelated, func(inner context.Context, tx *sql.Tx) error {
			if s.cfg.UnrelatedReads {
				var n int
				if err := tx.QueryRowContext(inner, `SELECT count(*) FROM stress_noise`).Scan(&n); err != nil {
					return err
				}
			} else if _, err := tx.ExecContext(inner, `INSERT INTO stress_noise (n) VALUES (0)`); err != nil {
				return err
			}
			s.mu.Lock()
			s.turn++
			s.open = s.turn
			before := s.beside
			s.mu.Unlock()
			_ = backoff.Sleep(ctx, s.cfg.UnrelatedFor) // ends with the writing
			for {
				s.mu.Lock()
				if s.beside > before || ctx.Err() != nil {
					s.open = 0
					s.mu.Unlock()
					return nil
				}
				s.mu.Unlock()
				_ = backoff.Sleep(ctx, 10*time.Millisecond)
			}
		})
		if err != nil && s.cfg.Faults == nil {
			return fmt.Errorf("unrelated transaction: %w", err)
		}
	}
	return nil
}

// readNaively is the reader that loses events.
func (s *stress) readNaively(ctx context.Context) error {
	last := int64(0)
	for {
		err := s.readAfter(ctx, &last)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("naive reader: %w", err)
		}
		if backoff.Sleep(ctx, 5*time.Millisecond) != nil {
			return nil
		}
	}
}

func (s *stress) readAfter(ctx context.Context, last *int64) error {
	rows, err := s.cfg.DB.QueryContext(ctx, fmt.Sprintf(`SELECT id, message_id FROM outbox_messages WHERE id > %d ORDER BY id LIMIT 1000`, *last))
	if err != nil {
		return err
	}
	for rows.Next() {
		var id string
		if err := rows.Scan(last, &id); err != nil {
			break
		}
		s.mu.Lock()
		s.naive[id] = true
		s.mu.Unlock()
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	s.mu.Lock()
	known, skipped := len(s.naive), s.skipped
	s.mu.Unlock()
	if skipped {
		return nil
	}
	// A row below the last one read that was not visible before: skipped.
	var n int
	if err := s.cfg.DB.QueryRowContext(ctx, fmt.Sprintf(`SELECT count(*) FROM outbox_messages WHERE id <= %d`, *last)).Scan(&n); err != nil {
		return err
	}
	s.mu.Lock()
	s.skipped = n > known
	s.mu.Unlock()
	return nil
}

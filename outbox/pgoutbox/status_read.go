package pgoutbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/pglog"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/sqltx"
)

// windows reads pending rows in windows between two snapshots. The rows' state alone decides
// which rows are pending; the position only saves a new lease from reading published rows that
// are kept.
type windows struct {
	db     *sql.DB
	log    *pglog.Log
	system atomic.Int64 // the database system's identifier; 0 until asked
}

// Read implements statusstore.Reader.
func (w *windows) Read(ctx context.Context, shard int, after driver.Mark, limit int) (driver.Batch, error) {
	var from log.Position
	if p, ok := after.(*log.Position); ok {
		from = *p
	}
	entries, next, err := w.log.Read(ctx, shard, from, limit)
	switch {
	case errors.Is(err, log.ErrLeaseLost):
		return driver.Batch{}, fmt.Errorf("%w: %w", driver.ErrLeaseLost, err)
	case errors.Is(err, log.ErrForeignDatabase):
		return driver.Batch{}, fmt.Errorf("%w: %w", driver.ErrForeignDatabase, err)
	case err != nil:
		return driver.Batch{}, err
	}
	b := driver.Batch{Items: make([]driver.Item, len(entries)), Next: &next}
	for i := range entries {
		e := &entries[i]
		it := &b.Items[i]
		it.ID, it.MessageID, it.Topic, it.Key = e.ID, e.MessageID, e.Topic, e.Key
		it.Headers, it.Payload, it.CreatedAt = e.Headers, e.Payload, e.CreatedAt
		it.Mark = &e.Position // a pointer, so that no row costs an allocation
	}
	return b, nil
}

// Begin implements statusstore.Reader.
func (w *windows) Begin(ctx context.Context, position string) (driver.Mark, error) {
	system, err := w.identify(ctx)
	if err != nil {
		return nil, err
	}
	of, p, err := parsePosition(position)
	if err != nil {
		return nil, err
	}
	if of != system && position != "" {
		return nil, driver.ErrForeignDatabase
	}
	return &p, nil
}

// parsePosition reads the text of Position, also in the older form without the floor; "" is the
// beginning.
func parsePosition(text string) (system int64, p log.Position, err error) {
	if text == "" {
		return 0, p, nil
	}
	f := strings.Split(text, "|")
	if len(f) == 5 {
		f = append(f, "0") // the older form
	}
	if len(f) != 6 {
		return 0, p, fmt.Errorf("the position %q in the table of progress is none", text)
	}
	var errs [4]error
	system, errs[0] = strconv.ParseInt(f[0], 10, 64)
	p.From, p.To = f[1], f[2]
	p.End, errs[1] = strconv.ParseInt(f[3], 10, 64)
	p.ID, errs[2] = strconv.ParseInt(f[4], 10, 64)
	p.Floor, errs[3] = strconv.ParseInt(f[5], 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return 0, p, fmt.Errorf("the position %q in the table of progress is none: %w", text, err)
	}
	return system, p, nil
}

// Behind implements statusstore.Reader.
func (*windows) Behind(position string) ([]any, error) {
	_, p, err := parsePosition(position)
	if err != nil {
		return nil, err
	}
	return pglog.Behind(p)
}

// Position implements statusstore.Reader.
func (w *windows) Position(m driver.Mark) string {
	p, ok := m.(*log.Position)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d|%s|%s|%d|%d|%d", w.system.Load(), p.From, p.To, p.End, p.ID, p.Floor)
}

func (w *windows) identify(ctx context.Context) (int64, error) {
	if id := w.system.Load(); id != 0 {
		return id, nil
	}
	var id int64
	if err := w.db.QueryRowContext(ctx, `SELECT system_identifier FROM pg_control_system()`).Scan(&id); err != nil {
		return 0, fmt.Errorf("identify the database system: %w", err)
	}
	w.system.Store(id)
	return id, nil
}

// Rebase implements driver.Rebaser. Pending rows are published regardless of their age, and
// rows published since the given time are published again.
func (s *statusStore) Rebase(ctx context.Context, since time.Time) error {
	shards, err := s.Shards(ctx)
	if err != nil {
		return err
	}
	if _, err := s.reader.identify(ctx); err != nil {
		return fmt.Errorf("pgoutbox: rebase: %w", err)
	}
	var start driver.Mark = &log.Position{}
	for shard := range shards {
		err := sqltx.Do(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, s.sql.rebaseRows, shard, since); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, s.sql.rebasePruned, shard); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, s.sql.rebaseLease, shard, s.reader.Position(start))
			return err
		})
		if err != nil {
			return fmt.Errorf("pgoutbox: rebase shard %d: %w", shard, err)
		}
	}
	return nil
}

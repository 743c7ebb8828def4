package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// Messages are the stored messages of the rooms.
type Messages struct {
	store *store.Store
	sql   *statements
}

// After returns up to limit messages of a room after a place, in order and without a
// gap from that place.
func (m *Messages) After(ctx context.Context, room string, seq int64, limit int) ([]Message, error) {
	return m.read(ctx, m.sql.After, room, seq, limit)
}

// Before returns up to limit messages of a room before a place, in order; the newest
// when the place is 0.
func (m *Messages) Before(ctx context.Context, room string, seq int64, limit int) ([]Message, error) {
	if seq == 0 {
		seq = math.MaxInt64
	}
	all, err := m.read(ctx, m.sql.Before, room, seq, limit)
	slices.Reverse(all)
	return all, err
}

// Last is the place of the newest stored message, 0 when there is none.
func (m *Messages) Last(ctx context.Context, room string) (seq int64, err error) {
	err = m.store.Reader().QueryRowContext(ctx, m.sql.Last, room).Scan(&seq)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("chat: the last message of %s: %w", room, err)
	}
	return seq, nil
}

func (m *Messages) read(ctx context.Context, statement, room string, seq int64, limit int) ([]Message, error) {
	all, err := store.List(ctx, m.store.Reader(), statement, []any{room, seq, limit}, func(row *sql.Rows) (Message, error) {
		one := Message{Room: room}
		var ms int64
		err := row.Scan(&one.Seq, &one.ID, &one.SenderID, &one.Text, &ms)
		one.SentAt = events.Time(ms)
		return one, err
	})
	if err != nil {
		return nil, fmt.Errorf("chat: messages of %s: %w", room, err)
	}
	return all, nil
}

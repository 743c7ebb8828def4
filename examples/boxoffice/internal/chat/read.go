package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// After returns up to limit messages of a room after a place, in order and without a
// gap from that place.
func (c *Chat) After(ctx context.Context, room string, seq int64, limit int) ([]Message, error) {
	return c.read(ctx, c.sql.After, room, seq, limit)
}

// Before returns up to limit messages of a room before a place, in order; the newest
// when the place is 0.
func (c *Chat) Before(ctx context.Context, room string, seq int64, limit int) ([]Message, error) {
	if seq == 0 {
		seq = math.MaxInt64
	}
	all, err := c.read(ctx, c.sql.Before, room, seq, limit)
	slices.Reverse(all)
	return all, err
}

// Last is the place of the newest stored message, 0 when there is none.
func (c *Chat) Last(ctx context.Context, room string) (seq int64, err error) {
	err = c.store.Reader().QueryRowContext(ctx, c.sql.Last, room).Scan(&seq)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("chat: the last message of %s: %w", room, err)
	}
	return seq, nil
}

func (c *Chat) read(ctx context.Context, statement, room string, seq int64, limit int) ([]Message, error) {
	rows, err := c.store.Reader().QueryContext(ctx, statement, room, seq, limit)
	if err != nil {
		return nil, fmt.Errorf("chat: messages of %s: %w", room, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	var all []Message
	for rows.Next() {
		m := Message{Room: room}
		var ms int64
		if err := rows.Scan(&m.Seq, &m.ID, &m.SenderID, &m.Text, &ms); err != nil {
			return nil, fmt.Errorf("chat: messages of %s: %w", room, err)
		}
		m.SentAt = events.Time(ms)
		all = append(all, m)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("chat: messages of %s: %w", room, err)
	}
	return all, nil
}

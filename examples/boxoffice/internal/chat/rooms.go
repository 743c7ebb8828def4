package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// sendTimeout bounds each call of the live streams and of the broker.
const sendTimeout = 2 * time.Second

// Exists returns nil, or ErrNoRoom.
func (c *Chat) Exists(ctx context.Context, room string) error {
	err := c.shows.Exists(ctx, room)
	if err != nil && (c.cfg.NoRoom == nil || errors.Is(err, c.cfg.NoRoom)) {
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	return err
}

// Join lets a member send to a room, and adds the member's live streams to it.
// Joining twice is harmless.
func (c *Chat) Join(ctx context.Context, member, room string) error {
	if err := c.Exists(ctx, room); err != nil {
		return err
	}
	err := c.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, c.sql.AddRoom, room); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, c.sql.AddMember, room, member)
		return err
	})
	if err != nil {
		return fmt.Errorf("chat: join %s: %w", room, err)
	}
	if c.sender != nil {
		c.told(ctx, func(ctx context.Context) error { return c.sender.Join(ctx, member, room) })
	}
	return nil
}

// Leave takes a member out of a room.
func (c *Chat) Leave(ctx context.Context, member, room string) error {
	if err := c.Exists(ctx, room); err != nil {
		return err
	}
	err := c.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, c.sql.RemoveMember, room, member)
		return err
	})
	if err != nil {
		return fmt.Errorf("chat: leave %s: %w", room, err)
	}
	if c.sender != nil {
		c.told(ctx, func(ctx context.Context) error { return c.sender.Leave(ctx, member, room) })
	}
	return nil
}

// told tells the live streams of a stored change. A stream that missed it is right
// when it opens again.
func (c *Chat) told(ctx context.Context, tell func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := tell(ctx); err != nil {
		c.counts.unsent.Add(1)
	}
}

// Joined reports whether a member is in a room.
func (c *Chat) Joined(ctx context.Context, member, room string) (bool, error) {
	var n int
	if err := c.store.Reader().QueryRowContext(ctx, c.sql.IsMember, room, member).Scan(&n); err != nil {
		return false, fmt.Errorf("chat: members of %s: %w", room, err)
	}
	return n > 0, nil
}

// Rooms are the rooms that a member has joined.
func (c *Chat) Rooms(ctx context.Context, member string) ([]string, error) {
	joined, err := c.roomsOf(ctx, member)
	if err != nil {
		return nil, err
	}
	rooms := make([]string, len(joined))
	for i, j := range joined {
		rooms[i] = j.room
	}
	return rooms, nil
}

type joined struct {
	room string
	at   time.Time
}

func (c *Chat) roomsOf(ctx context.Context, member string) ([]joined, error) {
	rows, err := c.store.Reader().QueryContext(ctx, c.sql.RoomsOf, member)
	if err != nil {
		return nil, fmt.Errorf("chat: rooms of %s: %w", member, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	var all []joined
	for rows.Next() {
		var j joined
		var ms int64
		if err := rows.Scan(&j.room, &ms); err != nil {
			return nil, fmt.Errorf("chat: rooms of %s: %w", member, err)
		}
		j.at = events.Time(ms)
		all = append(all, j)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("chat: rooms of %s: %w", member, err)
	}
	return all, nil
}

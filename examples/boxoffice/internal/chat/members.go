package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// Members join and leave the rooms.
type Members struct {
	store   *store.Store
	shows   Shows
	noRoom  error // by which Shows reports an unknown room; every error of it when nil
	sql     *statements
	streams *streams
}

// Exists returns nil, or ErrNoRoom.
func (m *Members) Exists(ctx context.Context, room string) error {
	err := m.shows.Exists(ctx, room)
	if err != nil && (m.noRoom == nil || errors.Is(err, m.noRoom)) {
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	return err
}

// Join lets a member send to a room, and adds the member's live streams to it.
// Joining twice is harmless.
func (m *Members) Join(ctx context.Context, member, room string) error {
	return m.move(ctx, "join", room, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, m.sql.AddRoom, room); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, m.sql.AddMember, room, member)
		return err
	}, func(ctx context.Context, live Sender) error { return live.Join(ctx, member, room) })
}

// Leave takes a member out of a room.
func (m *Members) Leave(ctx context.Context, member, room string) error {
	return m.move(ctx, "leave", room, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, m.sql.RemoveMember, room, member)
		return err
	}, func(ctx context.Context, live Sender) error { return live.Leave(ctx, member, room) })
}

func (m *Members) move(ctx context.Context, what, room string, write func(context.Context, *sql.Tx) error, tell func(context.Context, Sender) error) error {
	if err := m.Exists(ctx, room); err != nil {
		return err
	}
	if err := m.store.Write(ctx, write); err != nil {
		return fmt.Errorf("chat: %s %s: %w", what, room, err)
	}
	m.streams.told(ctx, tell)
	return nil
}

// Joined reports whether a member is in a room.
func (m *Members) Joined(ctx context.Context, member, room string) (bool, error) {
	var n int
	if err := m.store.Reader().QueryRowContext(ctx, m.sql.IsMember, room, member).Scan(&n); err != nil {
		return false, fmt.Errorf("chat: members of %s: %w", room, err)
	}
	return n > 0, nil
}

// Rooms are the rooms that a member has joined.
func (m *Members) Rooms(ctx context.Context, member string) ([]string, error) {
	joined, err := m.roomsOf(ctx, member)
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

func (m *Members) roomsOf(ctx context.Context, member string) ([]joined, error) {
	all, err := store.List(ctx, m.store.Reader(), m.sql.RoomsOf, []any{member}, func(row *sql.Rows) (joined, error) {
		var j joined
		var ms int64
		err := row.Scan(&j.room, &ms)
		j.at = events.Time(ms)
		return j, err
	})
	if err != nil {
		return nil, fmt.Errorf("chat: rooms of %s: %w", member, err)
	}
	return all, nil
}

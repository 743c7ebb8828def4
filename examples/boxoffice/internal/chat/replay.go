package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/sse"
)

const (
	// replayed is how many messages a stream is sent when it comes back; the newest.
	replayed = 100
	// apart is how far the workers of two rooms may be from each other for a stream
	// to miss nothing when it comes back.
	apart = 5 * time.Second
)

// cursor is where a stream was: behind a message of a room, and at about a time in
// the others.
type cursor struct {
	id, room string
	seq      int64
	at       time.Time
}

// Replay returns the events of the rooms of a member that come after the cursor of
// the chat, oldest first and in order by room; none for who has no cursor, since a
// room's past is read in the room. Of the cursor's own room it is exactly what comes
// after. The other rooms have workers of their own, so what was sent there in the
// last moments before the cursor is returned too, and may have been seen.
func (c *Chat) Replay(ctx context.Context, member string, since sse.Cursors) ([]sse.Event, error) {
	from, ok, err := c.place(ctx, since[EventName])
	if err != nil || !ok {
		return nil, err
	}
	rooms, err := c.roomsOf(ctx, member)
	if err != nil {
		return nil, err
	}
	var missed []stamped
	for _, j := range rooms {
		latest, err := c.Before(ctx, j.room, 0, replayed)
		if err != nil {
			return nil, err
		}
		missed = append(missed, after(from, j, latest)...)
	}
	slices.SortStableFunc(missed, func(a, b stamped) int { return a.at.Compare(b.at) })
	missed = missed[max(0, len(missed)-replayed):]
	all := make([]sse.Event, len(missed))
	for i, m := range missed {
		if all[i], err = alertOf(m.ID, m.Room, m.SenderID, m.Text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// place finds out where a stream was. A message that is not stored yet, or never
// will be, stands for the time in its id.
func (c *Chat) place(ctx context.Context, id string) (from cursor, ok bool, err error) {
	if id == "" {
		return from, false, nil
	}
	from.id = id
	var ms int64
	err = c.store.Reader().QueryRowContext(ctx, c.sql.Place, id).Scan(&from.room, &from.seq, &ms)
	switch {
	case err == nil:
		from.at = events.Time(ms)
		return from, true, nil
	case !errors.Is(err, sql.ErrNoRows):
		return from, false, fmt.Errorf("chat: the place of %s: %w", id, err)
	}
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 7 {
		return from, false, nil //nolint:nilerr // no id of ours
	}
	sec, nsec := u.Time().UnixTime()
	from.at = time.Unix(sec, nsec).UTC()
	return from, true, nil
}

// stamped is a message with a time that never goes back within its room.
type stamped struct {
	Message
	at time.Time
}

// after chooses those of a room's latest messages that a stream has missed.
func after(from cursor, j joined, latest []Message) []stamped {
	var missed []stamped
	var at time.Time
	for _, m := range latest {
		if at = later(at, m.SentAt); m.ID == from.id || m.SentAt.Before(j.at) {
			continue
		}
		if m.Room == from.room && m.Seq > from.seq || m.Room != from.room && m.SentAt.After(from.at.Add(-apart)) {
			missed = append(missed, stamped{m, at})
		}
	}
	return missed
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/sse"
)

const (
	// replayed is how many messages a reconnected stream is sent; the newest.
	replayed = 100
	// counted bounds the count of a room's messages that are left out.
	counted = 1000
	// apart is how far the workers of two rooms may be apart for a reconnected stream to
	// miss nothing.
	apart = 5 * time.Second
)

// cursor is where a stream was: after a message of a room, and at about a time in the
// others.
type cursor struct {
	id, room string
	seq      int64
	at       time.Time
}

// Replays read what a reconnected stream has missed.
type Replays struct {
	store    *store.Store
	sql      *statements
	members  *Members
	messages *Messages
}

// Replay returns the events of the rooms of a member after the cursor of the chat,
// oldest first and in order by room. It returns none without a cursor, since a room's
// past is read in the room. Of the cursor's own room it returns exactly the later
// events. The other rooms have workers of their own, so their events of the last
// moments before the cursor are returned too, and may have been seen. Events that are
// left out are counted, up to 1,000 of a room.
func (r *Replays) Replay(ctx context.Context, member string, since sse.Cursors) (sse.Missed, error) {
	from, ok, err := r.place(ctx, since[EventName])
	if err != nil || !ok {
		return sse.Missed{}, err
	}
	rooms, err := r.members.roomsOf(ctx, member)
	if err != nil {
		return sse.Missed{}, err
	}
	var missed []stamped
	left := 0
	for _, j := range rooms {
		latest, err := r.messages.Before(ctx, j.room, 0, replayed)
		if err != nil {
			return sse.Missed{}, err
		}
		of := after(from, j, latest)
		missed = append(missed, of...)
		if len(of) == replayed { // there may be more before them
			n, err := r.leftOut(ctx, from, j, latest[0].Seq)
			if err != nil {
				return sse.Missed{}, err
			}
			left += n
		}
	}
	slices.SortStableFunc(missed, func(a, b stamped) int { return a.at.Compare(b.at) })
	if over := len(missed) - replayed; over > 0 {
		left, missed = left+over, missed[over:]
	}
	all := sse.Missed{Events: make([]sse.Event, len(missed)), Left: map[string]int{EventName: left}}
	for i, m := range missed {
		if all.Events[i], err = alertOf(m.ID, m.Room, m.SenderID, m.Text); err != nil {
			return sse.Missed{}, err
		}
	}
	return all, nil
}

// leftOut counts the events of a room that a stream has missed before a place in it.
func (r *Replays) leftOut(ctx context.Context, from cursor, j joined, before int64) (n int, err error) {
	seq, at := int64(0), later(j.at, from.at.Add(-apart+time.Millisecond))
	if j.room == from.room {
		seq, at = from.seq, j.at
	}
	if err := r.store.Reader().QueryRowContext(ctx, r.sql.LeftOut, j.room, seq, before, counted, at.UnixMilli()).Scan(&n); err != nil {
		return 0, fmt.Errorf("chat: count the messages of %s: %w", j.room, err)
	}
	return n, nil
}

// place is where a stream was. For a message that is not stored, yet or ever, the
// time in its id is used.
func (r *Replays) place(ctx context.Context, id string) (from cursor, ok bool, err error) {
	if id == "" {
		return from, false, nil
	}
	from.id = id
	var ms int64
	err = r.store.Reader().QueryRowContext(ctx, r.sql.Place, id).Scan(&from.room, &from.seq, &ms)
	switch {
	case err == nil:
		from.at = events.Time(ms)
		return from, true, nil
	case !errors.Is(err, sql.ErrNoRows):
		return from, false, fmt.Errorf("chat: the place of %s: %w", id, err)
	}
	from.at, ok = events.MadeAt(id)
	return from, ok, nil
}

// stamped is a message with a time that never goes back within its room.
type stamped struct {
	Message
	at time.Time
}

// after chooses the messages among a room's latest that a stream has missed.
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

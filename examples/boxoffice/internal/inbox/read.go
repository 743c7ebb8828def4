package inbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/sse"
)

const (
	// EventName is the name of the streams' events.
	EventName = "notification"

	newest    = 10 // unread notifications that a new stream begins with
	maxMissed = 50 // and that one gets that comes back; a stream remembers 64
)

// Query selects notifications.
type Query struct {
	Unread bool
	// Before is the id of the last one of the page before; "" for the first page. An id that
	// was deleted meanwhile is the end: older ones were deleted first.
	Before string
	Limit  int
}

// List returns a member's notifications, newest first.
func (i *Inbox) List(ctx context.Context, member string, q Query) ([]Notification, error) {
	before := int64(math.MaxInt64)
	if q.Before != "" {
		var err error
		if before, err = i.place(ctx, member, q.Before); err != nil {
			return nil, fmt.Errorf("inbox: list: %w", err)
		}
	}
	statement := i.sql.Inbox
	if q.Unread {
		statement = i.sql.Unread
	}
	list, err := i.query(ctx, statement, member, before, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("inbox: list: %w", err)
	}
	return list, nil
}

// UnreadCount is how many of a member's notifications are unread.
func (i *Inbox) UnreadCount(ctx context.Context, member string) (n int64, err error) {
	if err := i.store.Reader().QueryRowContext(ctx, i.sql.UnreadCount, member).Scan(&n); err != nil {
		return 0, fmt.Errorf("inbox: count: %w", err)
	}
	return n, nil
}

// Read marks a member's notification as read, or fails with ErrNotFound. Marking it again
// is harmless and keeps the time.
func (i *Inbox) Read(ctx context.Context, member, id string) error {
	err := i.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, i.sql.MarkRead, id, member)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		var place int64
		err = tx.QueryRowContext(ctx, i.sql.PlaceOf, id, member).Scan(&place)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		return err
	})
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("inbox: read %s: %w", id, err)
	}
	return err
}

// ReadUpTo marks a member's notification and all earlier ones as read, or fails with
// ErrNotFound. Later ones stay unread: the member may not have seen them.
func (i *Inbox) ReadUpTo(ctx context.Context, member, id string) error {
	err := i.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var place int64
		err := tx.QueryRowContext(ctx, i.sql.PlaceOf, id, member).Scan(&place)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, i.sql.MarkReadUpTo, member, place)
		}
		return err
	})
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("inbox: read up to %s: %w", id, err)
	}
	return err
}

// muteTimeout bounds how long a change of settings waits for the streams.
const muteTimeout = 2 * time.Second

// Mute stops the sending of notifications to a member's streams, or resumes it. They are
// stored all the same. Streams that miss the change follow when they open again.
func (i *Inbox) Mute(ctx context.Context, member string, muted bool) error {
	value := 0
	if muted {
		value = 1
	}
	err := i.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, i.sql.AddSettings, member, value); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, i.sql.SetMuted, member, value)
		return err
	})
	if err != nil {
		return fmt.Errorf("inbox: mute: %w", err)
	}
	if i.sender == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, muteTimeout)
	defer cancel()
	if err := i.sender.Mute(ctx, member, muted); err != nil {
		i.counts.failed.Add(1)
	}
	return nil
}

// Muted reports whether a member gets no notifications on the streams.
func (i *Inbox) Muted(ctx context.Context, member string) (bool, error) {
	var muted int
	err := i.store.Reader().QueryRowContext(ctx, i.sql.IsMuted, member).Scan(&muted)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("inbox: settings: %w", err)
	}
	return muted == 1, nil
}

// Replay has the first events of a member's stream, oldest first: the newest 10 unread,
// or for a reconnected stream the newest 50 unread of those after the last one it saw. It
// counts the unread ones that it leaves out. Notifications that are still to be sent live
// are not included: a client that got one here and was cut would get it once more.
func (i *Inbox) Replay(ctx context.Context, member string, since sse.Cursors) (sse.Missed, error) {
	after, limit := int64(0), newest
	if last := since[EventName]; last != "" {
		place, err := i.place(ctx, member, last)
		if err != nil {
			return sse.Missed{}, fmt.Errorf("inbox: replay: %w", err)
		}
		if place > 0 { // not deleted since, and the member's own
			after, limit = place, maxMissed
		}
	}
	list, err := i.query(ctx, i.sql.Missed, member, after, limit)
	if err != nil {
		return sse.Missed{}, fmt.Errorf("inbox: replay: %w", err)
	}
	var all sse.Missed
	if len(list) == limit {
		var left int
		if err := i.store.Reader().QueryRowContext(ctx, i.sql.LeftOut, member, after, list[limit-1].ID).Scan(&left); err != nil {
			return sse.Missed{}, fmt.Errorf("inbox: replay: count what is left out: %w", err)
		}
		all.Left = map[string]int{EventName: left}
	}
	for _, n := range slices.Backward(list) {
		e, err := live(n)
		if err != nil {
			return sse.Missed{}, err
		}
		all.Events = append(all.Events, e)
	}
	return all, nil
}

// live is a notification as streams have it. Its message is in English: a stream does not
// know the language of its page, which makes its own sentence from the parameters.
func live(n Notification) (sse.Event, error) {
	data, err := json.Marshal(struct {
		ID      string              `json:"id"`
		Type    string              `json:"type"`
		Params  events.NoticeParams `json:"params"`
		Message string              `json:"message"`
		RefID   string              `json:"refId"`
	}{n.ID, n.Type, n.Params, n.Message, n.RefID})
	if err != nil {
		return sse.Event{}, fmt.Errorf("inbox: %w", err)
	}
	return sse.Event{Name: EventName, ID: n.ID, Data: data}, nil
}

// place of a member's notification in the order of commits; 0 for an unknown one.
func (i *Inbox) place(ctx context.Context, member, id string) (place int64, err error) {
	err = i.store.Reader().QueryRowContext(ctx, i.sql.PlaceOf, id, member).Scan(&place)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return place, err
}

func (i *Inbox) query(ctx context.Context, statement, member string, from int64, limit int) ([]Notification, error) {
	rows, err := i.store.Reader().QueryContext(ctx, statement, member, from, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	list := []Notification{}
	for rows.Next() {
		var n Notification
		var created, read int64
		if err := rows.Scan(&n.ID, &n.Type, column{&n.Params}, &n.Message, &n.RefID, &created, &read); err != nil {
			return nil, err
		}
		n.CreatedAt = events.Time(created)
		if read > 0 {
			n.ReadAt = events.Time(read)
		}
		list = append(list, n)
	}
	return list, rows.Err()
}

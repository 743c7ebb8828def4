package inbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
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

// Notifications are those of a member.
type Notifications struct{ *desk }

// List returns a member's notifications, newest first.
func (l *Notifications) List(ctx context.Context, member string, q Query) ([]Notification, error) {
	before := int64(math.MaxInt64)
	if q.Before != "" {
		var err error
		if before, err = l.place(ctx, l.store.Reader(), member, q.Before); err != nil {
			return nil, fmt.Errorf("inbox: list: %w", err)
		}
	}
	statement := l.sql.Inbox
	if q.Unread {
		statement = l.sql.Unread
	}
	list, err := l.query(ctx, statement, member, before, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("inbox: list: %w", err)
	}
	return list, nil
}

// UnreadCount is how many of a member's notifications are unread.
func (l *Notifications) UnreadCount(ctx context.Context, member string) (n int64, err error) {
	if err := l.store.Reader().QueryRowContext(ctx, l.sql.UnreadCount, member).Scan(&n); err != nil {
		return 0, fmt.Errorf("inbox: count: %w", err)
	}
	return n, nil
}

// Read marks a member's notification as read, or fails with ErrNotFound. Marking it again
// is harmless and keeps the time.
func (l *Notifications) Read(ctx context.Context, member, id string) error {
	err := l.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, l.sql.MarkRead, id, member)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		place, err := l.place(ctx, tx, member, id)
		if err == nil && place == 0 {
			return ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("inbox: read %s: %w", id, err)
	}
	return nil
}

// ReadUpTo marks a member's notification and all earlier ones as read, or fails with
// ErrNotFound. Later ones stay unread: the member may not have seen them.
func (l *Notifications) ReadUpTo(ctx context.Context, member, id string) error {
	err := l.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		place, err := l.place(ctx, tx, member, id)
		if err == nil && place == 0 {
			return ErrNotFound
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, l.sql.MarkReadUpTo, member, place)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("inbox: read up to %s: %w", id, err)
	}
	return nil
}

// Replay has the first events of a member's stream, oldest first: the newest 10 unread,
// or for a reconnected stream the newest 50 unread of those after the last one it saw. It
// counts the unread ones that it leaves out. Notifications that are still to be sent live
// are not included: a client that got one here and was cut would get it once more.
func (l *Notifications) Replay(ctx context.Context, member string, since sse.Cursors) (sse.Missed, error) {
	after, limit := int64(0), newest
	if last := since[EventName]; last != "" {
		place, err := l.place(ctx, l.store.Reader(), member, last)
		if err != nil {
			return sse.Missed{}, fmt.Errorf("inbox: replay: %w", err)
		}
		if place > 0 { // not deleted since, and the member's own
			after, limit = place, maxMissed
		}
	}
	list, err := l.query(ctx, l.sql.Missed, member, after, limit)
	if err != nil {
		return sse.Missed{}, fmt.Errorf("inbox: replay: %w", err)
	}
	var all sse.Missed
	if len(list) == limit {
		var left int
		if err := l.store.Reader().QueryRowContext(ctx, l.sql.LeftOut, member, after, list[limit-1].ID).Scan(&left); err != nil {
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
func (l *Notifications) place(ctx context.Context, db store.RowQuerier, member, id string) (place int64, err error) {
	err = db.QueryRowContext(ctx, l.sql.PlaceOf, id, member).Scan(&place)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return place, err
}

func (l *Notifications) query(ctx context.Context, statement, member string, from int64, limit int) ([]Notification, error) {
	return store.List(ctx, l.store.Reader(), statement, []any{member, from, limit}, func(row *sql.Rows) (Notification, error) {
		var n Notification
		var created, read int64
		err := row.Scan(&n.ID, &n.Type, column{&n.Params}, &n.Message, &n.RefID, &created, &read)
		n.CreatedAt = events.Time(created)
		if read > 0 {
			n.ReadAt = events.Time(read)
		}
		return n, err
	})
}

package social

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/notices"
)

// Comment is a member's comment on a show.
type Comment struct {
	ID, ShowID, MemberID, Text string
	CreatedAt                  time.Time
}

// Comment writes a comment. The caller bounds its text.
func (x *Social) Comment(ctx context.Context, member, show, text string) (Comment, error) {
	id, err := newID()
	if err != nil {
		return Comment{}, err
	}
	c := Comment{ID: id, ShowID: show, MemberID: member, Text: text}
	err = x.write(ctx, "comment", func(ctx context.Context, tx *sql.Tx) error {
		title, err := x.catalog.Title(ctx, tx, show)
		if err != nil {
			return err
		}
		at, err := x.now(ctx, tx)
		if err != nil {
			return err
		}
		c.CreatedAt = events.Time(at)
		if _, err := tx.ExecContext(ctx, x.sql.AddComment, id, show, member, text, at); err != nil {
			return err
		}
		told, err := notice(events.CommentCreated, id, member, show, events.NoticeParams{Member: member, Show: title}, at)
		if err != nil {
			return err
		}
		return x.counted(ctx, tx, c, 1, told)
	})
	if err != nil {
		return Comment{}, err
	}
	return c, nil
}

// DeleteComment deletes the member's own comment. The row stays, with the time.
// Deleting it twice is harmless.
func (x *Social) DeleteComment(ctx context.Context, member, id string) error {
	return x.write(ctx, "delete a comment", func(ctx context.Context, tx *sql.Tx) error {
		c := Comment{ID: id}
		var gone bool
		err := tx.QueryRowContext(ctx, x.sql.LockComment, id).Scan(&c.ShowID, &c.MemberID, &gone)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNoComment
		}
		if err != nil {
			return err
		}
		if c.MemberID != member {
			return ErrNotYours
		}
		if gone {
			return nil
		}
		if _, err := tx.ExecContext(ctx, x.sql.DeleteComment, id); err != nil {
			return err
		}
		return x.counted(ctx, tx, c, -1)
	})
}

// counted records that a show has a comment more or less: in a change row for the
// total, and in an event for the next readers, which is sent with others.
func (x *Social) counted(ctx context.Context, tx *sql.Tx, c Comment, n int64, others ...event.Event) error {
	if err := x.changes.Append(ctx, tx, counter.Change{Key: c.ShowID, N: n}); err != nil {
		return err
	}
	delta, err := events.New(events.CommentCountDeltaPublished, "comment", c.ShowID, c.MemberID, false,
		events.Counted{CommentID: c.ID, Delta: n})
	if err != nil {
		return err
	}
	return x.outbox.Append(ctx, tx, append(others, delta)...)
}

// Comments lists a show's comments, newest first: those before the comment with the
// id before, or the newest when before is "".
func (x *Social) Comments(ctx context.Context, show, before string, limit int) ([]Comment, error) {
	if err := x.catalog.Exists(ctx, show); err != nil {
		return nil, err
	}
	rows, err := x.store.Reader().QueryContext(ctx, x.sql.Comments, show, before, limit)
	if err != nil {
		return nil, fmt.Errorf("social: read comments: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	var all []Comment
	for rows.Next() {
		c := Comment{ShowID: show}
		var at int64
		if err := rows.Scan(&c.ID, &c.MemberID, &c.Text, &at); err != nil {
			return nil, fmt.Errorf("social: read comments: %w", err)
		}
		c.CreatedAt = events.Time(at)
		all = append(all, c)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("social: read comments: %w", err)
	}
	return all, nil
}

// notice makes an event that members are notified of, ordered by the actor.
func notice(typ, about, member, ref string, p events.NoticeParams, at int64) (event.Event, error) {
	return events.New(typ, "notice", about, member, member != "", events.Noticed{
		MemberID: member, RefID: ref, Params: p, Message: notices.Text("en", notices.TypeOf(typ), p, ""), At: events.Time(at),
	})
}

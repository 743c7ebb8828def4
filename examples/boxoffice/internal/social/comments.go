package social

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// Comment is a member's comment on a show.
type Comment struct {
	ID, ShowID, MemberID, Text string
	CreatedAt                  time.Time
}

// Discussion is the comments on the shows.
type Discussion struct {
	*desk
	changes driver.SQLLog // what the shows' counts are made of
}

// Comment writes a comment. The caller bounds its text.
func (d *Discussion) Comment(ctx context.Context, member, show, text string) (Comment, error) {
	id, err := newID()
	if err != nil {
		return Comment{}, err
	}
	c := Comment{ID: id, ShowID: show, MemberID: member, Text: text}
	err = d.write(ctx, "comment", func(ctx context.Context, tx *sql.Tx) error {
		title, err := d.catalog.Title(ctx, tx, show)
		if err != nil {
			return err
		}
		at, err := d.now(ctx, tx)
		if err != nil {
			return err
		}
		c.CreatedAt = events.Time(at)
		if _, err := tx.ExecContext(ctx, d.sql.AddComment, id, show, member, text, at); err != nil {
			return err
		}
		told, err := notice(events.CommentCreated, id, member, show, events.NoticeParams{Member: member, Show: title}, at)
		if err != nil {
			return err
		}
		return d.counted(ctx, tx, c, 1, told)
	})
	if err != nil {
		return Comment{}, err
	}
	return c, nil
}

// DeleteComment deletes the member's own comment. The row stays, with the time.
// Deleting it twice is harmless.
func (d *Discussion) DeleteComment(ctx context.Context, member, id string) error {
	return d.write(ctx, "delete a comment", func(ctx context.Context, tx *sql.Tx) error {
		c := Comment{ID: id}
		var gone bool
		err := tx.QueryRowContext(ctx, d.sql.LockComment, id).Scan(&c.ShowID, &c.MemberID, &gone)
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
		if _, err := tx.ExecContext(ctx, d.sql.DeleteComment, id); err != nil {
			return err
		}
		return d.counted(ctx, tx, c, -1)
	})
}

// counted records that a show has a comment more or less: in a change row for the
// total, and in an event for the next readers, which is sent with others.
func (d *Discussion) counted(ctx context.Context, tx *sql.Tx, c Comment, n int64, others ...event.Event) error {
	if err := d.changes.Append(ctx, tx, counter.Change{Key: c.ShowID, N: n}); err != nil {
		return err
	}
	delta, err := events.New(events.CommentCountDeltaPublished, "comment", c.ShowID, c.MemberID, false,
		events.Counted{CommentID: c.ID, Delta: n})
	if err != nil {
		return err
	}
	return d.outbox.Append(ctx, tx, append(others, delta)...)
}

// Comments lists a show's comments, newest first: those before the comment with the
// id before, or the newest when before is "".
func (d *Discussion) Comments(ctx context.Context, show, before string, limit int) ([]Comment, error) {
	if err := d.catalog.Exists(ctx, show); err != nil {
		return nil, err
	}
	all, err := store.List(ctx, d.store.Reader(), d.sql.Comments, []any{show, before, limit}, func(row *sql.Rows) (Comment, error) {
		c := Comment{ShowID: show}
		var at int64
		err := row.Scan(&c.ID, &c.MemberID, &c.Text, &at)
		c.CreatedAt = events.Time(at)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("social: read comments: %w", err)
	}
	return all, nil
}

package social

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"

	"github.com/google/uuid"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/notices"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

//go:embed sql/social.sql
var socialSQL string

type statements struct {
	Now, AddComment, Comments, LockComment, DeleteComment string
	Like, Unlike, Liked, Follow, Unfollow, Follows        string
	OpenVote, LockVote, ChangeBallot, AddBallot           string
	CloseVote, NextVote, DueVotes, VoteOf, Choice, Tally  string
	AddLikes, AddSales, AddViews, AddComments             string
}

// desk writes what members do: their rows and events in one transaction.
type desk struct {
	store   *store.Store
	catalog *catalog.Catalog
	outbox  store.Appender
	sql     statements
}

// now is the database's time, in milliseconds.
func (d *desk) now(ctx context.Context, tx *sql.Tx) (ms int64, err error) {
	err = tx.QueryRowContext(ctx, d.sql.Now).Scan(&ms)
	return ms, err
}

// write runs fn in a transaction and names the attempted action in its error.
func (d *desk) write(ctx context.Context, what string, fn func(ctx context.Context, tx *sql.Tx) error) error {
	if err := d.store.Write(ctx, fn); err != nil {
		return fmt.Errorf("social: %s: %w", what, err)
	}
	return nil
}

// once runs an insert that another request may have done before, or does at the same
// moment: then nothing happens, and that is no error.
func (d *desk) once(ctx context.Context, what string, fn func(ctx context.Context, tx *sql.Tx) error) error {
	err := d.write(ctx, what, fn)
	if d.store.IsUnique(err) {
		return nil
	}
	return err
}

// changed runs a statement and returns the number of its rows.
func changed(ctx context.Context, tx *sql.Tx, statement string, args ...any) (int64, error) {
	res, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func newID() (string, error) {
	id, err := uuid.NewV7() // grows with the time
	if err != nil {
		return "", fmt.Errorf("social: make an id: %w", err)
	}
	return id.String(), nil
}

// list reads one column of text.
func (d *desk) list(ctx context.Context, statement string, args ...any) ([]string, error) {
	all, err := store.Column(ctx, d.store.Reader(), statement, args...)
	if err != nil {
		return nil, fmt.Errorf("social: read: %w", err)
	}
	return all, nil
}

// notice makes an event that members are notified of, ordered by the actor.
func notice(typ, about, member, ref string, p events.NoticeParams, at int64) (event.Event, error) {
	return events.New(typ, "notice", about, member, member != "", events.Noticed{
		MemberID: member, RefID: ref, Params: p, Message: notices.Text("en", notices.TypeOf(typ), p, ""), At: events.Time(at),
	})
}

package social

import (
	"context"
	"database/sql"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// Likes are the shows that members like.
type Likes struct{ *desk }

// Like records that the member likes the show. Liking it twice is harmless.
func (l *Likes) Like(ctx context.Context, member, show string) error {
	return l.once(ctx, "like", func(ctx context.Context, tx *sql.Tx) error {
		title, err := l.catalog.Title(ctx, tx, show)
		if err != nil {
			return err
		}
		at, err := l.now(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, l.sql.Like, show, member, at); err != nil {
			return err
		}
		liked, err := like(events.ShowLiked, show, member, at)
		if err != nil {
			return err
		}
		told, err := notice(events.PostLiked, show, member, show, events.NoticeParams{Member: member, Show: title}, at)
		if err != nil {
			return err
		}
		return l.outbox.Append(ctx, tx, liked, told)
	})
}

// Unlike removes the like, if there is one.
func (l *Likes) Unlike(ctx context.Context, member, show string) error {
	return l.write(ctx, "unlike", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := l.catalog.Title(ctx, tx, show); err != nil {
			return err
		}
		n, err := changed(ctx, tx, l.sql.Unlike, show, member)
		if err != nil || n == 0 {
			return err
		}
		at, err := l.now(ctx, tx)
		if err != nil {
			return err
		}
		unliked, err := like(events.ShowUnliked, show, member, at)
		if err != nil {
			return err
		}
		return l.outbox.Append(ctx, tx, unliked)
	})
}

func like(typ, show, member string, at int64) (event.Event, error) {
	return events.New(typ, "like", show, member, false, events.Liked{MemberID: member, LikedAt: events.Time(at)})
}

// Liked are the shows that the member likes.
func (l *Likes) Liked(ctx context.Context, member string) ([]string, error) {
	return l.list(ctx, l.sql.Liked, member)
}

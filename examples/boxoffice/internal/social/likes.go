package social

import (
	"context"
	"database/sql"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// maxFollows bounds how many members Follows names.
const maxFollows = 1000

// Like records that the member likes the show. Liking it twice is harmless.
func (x *Social) Like(ctx context.Context, member, show string) error {
	return x.once(ctx, "like", func(ctx context.Context, tx *sql.Tx) error {
		title, err := x.catalog.Title(ctx, tx, show)
		if err != nil {
			return err
		}
		at, err := x.now(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, x.sql.Like, show, member, at); err != nil {
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
		return x.outbox.Append(ctx, tx, liked, told)
	})
}

// Unlike removes the like, if there is one.
func (x *Social) Unlike(ctx context.Context, member, show string) error {
	return x.write(ctx, "unlike", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := x.catalog.Title(ctx, tx, show); err != nil {
			return err
		}
		n, err := changed(ctx, tx, x.sql.Unlike, show, member)
		if err != nil || n == 0 {
			return err
		}
		at, err := x.now(ctx, tx)
		if err != nil {
			return err
		}
		unliked, err := like(events.ShowUnliked, show, member, at)
		if err != nil {
			return err
		}
		return x.outbox.Append(ctx, tx, unliked)
	})
}

func like(typ, show, member string, at int64) (event.Event, error) {
	return events.New(typ, "like", show, member, false, events.Liked{MemberID: member, LikedAt: events.Time(at)})
}

// Liked are the shows that the member likes.
func (x *Social) Liked(ctx context.Context, member string) ([]string, error) {
	return x.list(ctx, x.sql.Liked, member)
}

// Follow has the member notified of the other's actions. Following twice is harmless.
func (x *Social) Follow(ctx context.Context, member, other string) error {
	if member == other {
		return ErrSelf
	}
	known, err := x.store.KnowsMember(ctx, other)
	if err != nil {
		return err
	}
	if !known {
		return ErrNoMember
	}
	return x.once(ctx, "follow", func(ctx context.Context, tx *sql.Tx) error {
		at, err := x.now(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, x.sql.Follow, other, member, at); err != nil {
			return err
		}
		told, err := notice(events.MemberFollowed, other, member, other, events.NoticeParams{Member: member}, at)
		if err != nil {
			return err
		}
		return x.outbox.Append(ctx, tx, told)
	})
}

// Unfollow ends that, without a notification.
func (x *Social) Unfollow(ctx context.Context, member, other string) error {
	return x.write(ctx, "unfollow", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, x.sql.Unfollow, other, member)
		return err
	})
}

// Follows are the members that the member follows, the first thousand of them.
func (x *Social) Follows(ctx context.Context, member string) ([]string, error) {
	return x.list(ctx, x.sql.Follows, member, maxFollows)
}

// View records a view of a show's page, by a member or an unknown visitor ("").
func (x *Social) View(ctx context.Context, member, show string) error {
	if err := x.catalog.Exists(ctx, show); err != nil {
		return err
	}
	return x.write(ctx, "view", func(ctx context.Context, tx *sql.Tx) error {
		seen, err := events.New(events.ShowViewed, "product", show, member, false,
			events.Viewed{MemberID: member, ViewedAt: time.Now().UTC()})
		if err != nil {
			return err
		}
		return x.outbox.Append(ctx, tx, seen)
	})
}

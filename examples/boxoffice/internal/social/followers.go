package social

import (
	"context"
	"database/sql"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// maxFollows bounds how many members Follows names.
const maxFollows = 1000

// Followers are notified of what other members do.
type Followers struct{ *desk }

// Follow has the member notified of the other's actions. Following twice is harmless.
func (f *Followers) Follow(ctx context.Context, member, other string) error {
	if member == other {
		return ErrSelf
	}
	known, err := f.store.KnowsMember(ctx, other)
	if err != nil {
		return err
	}
	if !known {
		return ErrNoMember
	}
	return f.once(ctx, "follow", func(ctx context.Context, tx *sql.Tx) error {
		at, err := f.now(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, f.sql.Follow, other, member, at); err != nil {
			return err
		}
		told, err := notice(events.MemberFollowed, other, member, other, events.NoticeParams{Member: member}, at)
		if err != nil {
			return err
		}
		return f.outbox.Append(ctx, tx, told)
	})
}

// Unfollow ends that, without a notification.
func (f *Followers) Unfollow(ctx context.Context, member, other string) error {
	return f.write(ctx, "unfollow", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, f.sql.Unfollow, other, member)
		return err
	})
}

// Follows are the members that the member follows, the first thousand of them.
func (f *Followers) Follows(ctx context.Context, member string) ([]string, error) {
	return f.list(ctx, f.sql.Follows, member, maxFollows)
}

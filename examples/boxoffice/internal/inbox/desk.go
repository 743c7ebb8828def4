package inbox

import (
	"context"
	_ "embed"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

//go:embed sql/inbox.sql
var inboxSQL string

type statements struct {
	Position, StoreOne                                     string
	FollowersPage, StoreFollowers, VotersPage, StoreVoters string
	AddFanout, NextFanout, MoveFanout, EndFanout           string
	Inbox, Unread, Missed, LeftOut                         string
	UnreadCount, PlaceOf, MarkRead, MarkReadUpTo           string
	AddSettings, SetMuted, IsMuted                         string
	Places, ToSend, MarkSent                               string
	KeepTrace, TracesToSend, ForgetTraces                  string
	LastOfStep, DeleteUpTo                                 string
}

// desk is what the parts of an Inbox share.
type desk struct {
	store  *store.Store
	cfg    Config
	sql    statements
	sender Sender // nil where nothing is sent live
	counts counts
}

// retryAfter is how long a part waits after a failure of the database.
const retryAfter = time.Second

// repeat calls step when it is woken and at the time that the previous step returned,
// until ctx ends.
func (d *desk) repeat(ctx context.Context, wake signal.Signal, failed string, step func(ctx context.Context) (time.Duration, error)) {
	wake.Repeat(ctx, func(ctx context.Context) time.Duration {
		next, err := step(ctx)
		if err != nil && ctx.Err() == nil {
			d.cfg.Logger.Warn(failed+", will try again", "error", err)
			next = retryAfter
		}
		return next
	})
}

package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/api"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/queue"
)

// memberLane is the lane of those with a membership of the house, in all waiting rooms.
const memberLane = "member"

// laneTimeout bounds the question for a membership: a member that cannot be asked for
// stands in the line, as all do.
const laneTimeout = 300 * time.Millisecond

func lanes(cfg config.Config) []queue.Lane {
	if cfg.Queue.MemberShare == 0 {
		return nil
	}
	return []queue.Lane{{Name: memberLane, Share: float64(cfg.Queue.MemberShare) / 100}}
}

// laneOf is nil where members have no lane.
func laneOf(b *base, payments *payment.Payments) api.Lane {
	if b.cfg.Queue.MemberShare == 0 {
		return nil
	}
	return func(ctx context.Context, member string) string {
		ctx, cancel := context.WithTimeout(ctx, laneTimeout)
		defer cancel()
		is, err := payments.IsMember(ctx, member)
		if err != nil {
			b.log.LogAttrs(ctx, slog.LevelDebug, "a membership cannot be asked for; the member stands in the line", slog.Any("error", err))
		}
		if !is {
			return ""
		}
		return memberLane
	}
}

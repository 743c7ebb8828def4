package queue

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// back serves a visitor with a ticket whose place the snapshot does not show. One that is
// nowhere may have a kept place, and is asked before the return as before a join. After a loss,
// while the line forms again, the visitor is not asked: the ticket brings the place back.
func (l *line) back(ctx context.Context, v driver.Visit, ticket string, may func(context.Context, State) error) (Place, error) {
	if v.Kind != driver.Check || may == nil {
		return l.visit(ctx, v, ticket)
	}
	look := v
	look.Kind = driver.Heartbeat
	place, err := l.visit(ctx, look, ticket)
	if err != nil || place.Status == Waiting || place.Status == Active {
		return place, err
	}
	if s := l.state.Load(); s == nil || s.Epoch == v.Epoch || s.Settling == 0 {
		if err := may(ctx, l.known(ctx)); err != nil {
			return Place{}, err
		}
	}
	return l.visit(ctx, v, ticket)
}

// join serves a visitor without a ticket, who may be in the room all the same: one that
// may not join is asked for by name.
func (l *line) join(ctx context.Context, v driver.Visit, may func(context.Context, State) error) (Place, error) {
	if v.Kind != driver.Check || may == nil {
		return l.visit(ctx, v, "")
	}
	refusal := may(ctx, l.known(ctx))
	if refusal == nil {
		return l.visit(ctx, v, "")
	}
	v.Kind = driver.Heartbeat
	place, err := l.visit(ctx, v, "")
	if err == nil && (place.Status == None || place.Status == Gated) {
		return Place{}, refusal
	}
	return place, err
}

// known is the state that a join is decided by. In a room that is in use some answer of the
// store is always new enough; else the store is asked. It is zero if no answer ever came.
func (l *line) known(ctx context.Context) State {
	l.begin(ctx)
	if now := l.room.now(); now-time.Duration(l.learned.Load()) > l.room.cfg.Refresh || l.state.Load() == nil {
		l.current(ctx, now)
	}
	if s := l.state.Load(); s != nil {
		return *s
	}
	return State{}
}

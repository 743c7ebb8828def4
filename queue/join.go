package queue

import "context"

// join serves a visitor without a ticket, who may be in the room all the same: one that
// may not join is asked for by name.
func (l *line) join(ctx context.Context, v Visit, may func(context.Context) error) (Place, error) {
	if v.Kind != Check || may == nil {
		return l.visit(ctx, v, "")
	}
	refusal := may(ctx)
	if refusal == nil {
		return l.visit(ctx, v, "")
	}
	v.Kind = Heartbeat
	place, err := l.visit(ctx, v, "")
	if err == nil && (place.Status == None || place.Status == Gated) {
		return Place{}, refusal
	}
	return place, err
}

package live

import (
	"context"
	"slices"

	"github.com/millrace-go/millrace/sse"
)

// missed reads the events that a stream has missed: when it opens, and after an
// outage of the broker.
type missed struct {
	live   *Live
	member string
	failed error // why the stream cannot be; it ends with the inbox's address

	// What the stream began with, and the rooms that it may be in. Changes while it is open
	// reach it past this.
	rooms []string
	muted bool
	open  bool
}

// Replay is an [sse.Replayer].
func (m *missed) Replay(ctx context.Context, since sse.Cursors) (sse.Missed, error) {
	if m.failed != nil {
		return sse.Missed{}, m.failed
	}
	// The rooms come first, so that later messages in them are either replayed or heard.
	if err := m.settle(ctx); err != nil {
		return sse.Missed{}, err
	}
	all := sse.Missed{Left: map[string]int{}}
	for _, r := range m.live.cfg.Replayers {
		some, err := r.Replay(ctx, m.member, since)
		if err != nil {
			return sse.Missed{}, err
		}
		all.Events = append(all.Events, some.Events...)
		for name, n := range some.Left {
			all.Left[name] += n
		}
	}
	return all, nil
}

// settle sends the member's streams the changes of rooms and mute that they may have
// missed: those since they were read, or after an outage all that hold now. If this fails,
// it is repeated when the broker is back.
func (m *missed) settle(ctx context.Context) error {
	rooms, muted, err := m.live.standing(ctx, m.member)
	if err != nil {
		return err
	}
	hub := m.live.hub
	for _, room := range rooms {
		if m.open || !slices.Contains(m.rooms, room) {
			_ = hub.Join(ctx, m.member, room)
		}
	}
	for _, room := range m.rooms {
		if !slices.Contains(rooms, room) && hub.Leave(ctx, m.member, room) != nil {
			rooms = append(slices.Clip(rooms), room)
		}
	}
	if m.open || muted != m.muted {
		_ = hub.Mute(ctx, m.member, muted)
	}
	m.rooms, m.open = rooms, true
	return nil
}

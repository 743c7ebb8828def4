package queuetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue/driver"
)

func eventCases() []testCase {
	return []testCase{
		{Name: "events-are-apart", Run: eventsAreApart},
		{Name: "events-are-listed", Run: eventsAreListed},
		{Name: "events-are-forgotten", Needs: []conformance.Need{NeedClock}, Run: eventsAreForgotten},
	}
}

func eventsAreApart(ctx context.Context, h Harness) error {
	players := make([]*player, 6)
	for i := range players {
		players[i] = newPlayer(ctx, h, limited(i))
		players[i].store = h.Peers[i%len(h.Peers)]
	}
	users := names("u", 8)
	for i, p := range players {
		got, err := p.visit(checks(users...)...)
		if err != nil {
			return err
		}
		if got.Active != i || got.Waiting != 8-i {
			return fmt.Errorf("the same eight users come to %d places of another event, and the room is %+v", i, got.State)
		}
	}
	return steps(
		func() error { return players[5].pause(true) },
		func() error { _, err := players[4].change(driver.Change{Clear: true}); return err },
		func() error { return players[3].gate(true, 10) },
		func() error { return players[2].threshold(0) },
		func() error { _, err := players[1].one(driver.Visit{Kind: driver.Leave, User: users[0]}); return err },
		func() error { return players[0].counts("apart from others", 8, 0, 0) },
		func() error { return players[1].admits("apart from others", users[1]) },
		func() error { return players[2].counts("apart from others", 6, 2, 0) },
		func() error { return players[3].counts("apart from others", 5, 3, 0) },
		func() error { return players[4].counts("after it was cleared", 0, 0, 0) },
		func() error { _, err := players[4].enter(users[:4]...); return err },
		func() error { return players[5].counts("apart from others", 3, 5, 0) },
	)
}

// listed expects the event to be among the events of every process.
func (p *player) listed(when string, want bool) error {
	for _, store := range p.h.Peers {
		events, err := store.Events(p.ctx)
		if err != nil {
			return fmt.Errorf("events: %w", err)
		}
		if slices.Contains(events, p.event) != want {
			return fmt.Errorf("%s the event is listed: %t", when, !want)
		}
	}
	return nil
}

// eventsAreListed: with a user inside as with a user in line.
func eventsAreListed(ctx context.Context, h Harness) error {
	p, q := newPlayer(ctx, h, limited(1)), newPlayer(ctx, h, rules)
	return steps(
		func() error { return p.listed("before anybody came", false) },
		func() error { _, err := p.enter("a"); return err },
		func() error { return p.listed("with somebody inside", true) },
		func() error { return q.listed("before anybody came", false) },
		func() error { _, err := q.join("a"); return err },
		func() error { return q.listed("with somebody in line", true) },
		func() error { _, err := q.sweep(); return err },
		func() error { return q.listed("after a sweep", true) },
		func() error { return p.listed("after a sweep of another", true) },
	)
}

// eventsAreForgotten: when they were empty for long enough, and never while they
// have users.
func eventsAreForgotten(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(1))
	p.r.Active, p.r.Seen = 1000*time.Hour, 1000*time.Hour
	sweeps := func(n int) error {
		for range n {
			h.Advance(p.r.SweepEvery + time.Second)
			if _, err := p.sweep(); err != nil {
				return err
			}
		}
		return nil
	}
	leave := func(user string) error {
		_, err := p.one(driver.Visit{Kind: driver.Leave, User: user})
		return err
	}
	return steps(
		func() error { _, err := p.enter("a"); return err },
		func() error { return sweeps(3) },
		func() error { return p.listed("with somebody inside", true) },
		func() error { _, err := p.join("b"); return err },
		func() error { return leave("a") },
		func() error { return sweeps(3) },
		func() error { return p.listed("with somebody in line", true) },
		func() error { return leave("b") },
		func() error { _, err := p.sweep(); return err },
		func() error { return p.listed("soon after the last one left", true) },
		func() error { return sweeps(3) },
		func() error { return p.listed("long after the last one left", false) },
		func() error { _, err := p.enter("c"); return err },
		func() error { return p.listed("with somebody inside again", true) },
		func() error { _, err := p.join("d"); return err },
		func() error { return p.threshold(2) },
		func() error { return p.admits("a place", "d") },
		func() error { return sweeps(3) },
		func() error { return p.listed("with two inside", true) },
	)
}

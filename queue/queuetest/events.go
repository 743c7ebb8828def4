package queuetest

import (
	"slices"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func eventCases() []testCase {
	return []testCase{
		{Name: "events-are-apart", Run: play(eventsAreApart)},
		{Name: "events-are-listed", Run: play(eventsAreListed)},
		{Name: "events-are-forgotten", Needs: []conformance.Need{NeedClock}, Run: play(eventsAreForgotten)},
	}
}

func eventsAreApart(p *player) {
	players := make([]*player, 6)
	for i := range players {
		players[i] = p.other(limited(i))
		players[i].store = p.h.Peers[i%len(p.h.Peers)]
	}
	users := names("u", 8)
	for i, p := range players {
		got := p.visit(checks(users...)...)
		if got.Active != i || got.Waiting != 8-i {
			steps.Fail("the same eight users come to %d places of another event, and the room is %+v", i, got.State)
		}
	}
	players[5].pause(true)
	players[4].change(driver.Change{Clear: true})
	players[3].gate(true, 10)
	players[2].threshold(0)
	players[1].leave(users[0])
	players[0].counts("apart from others", 8, 0, 0)
	players[1].admits("apart from others", users[1])
	players[2].counts("apart from others", 6, 2, 0)
	players[3].counts("apart from others", 5, 3, 0)
	players[4].counts("after it was cleared", 0, 0, 0)
	players[4].enter(users[:4]...)
	players[5].counts("apart from others", 3, 5, 0)
}

// listed expects the event to be among the events of every process.
func (p *player) listed(when string, want bool) {
	for _, store := range p.h.Peers {
		events, err := store.Events(p.ctx)
		steps.Named(err, "events")
		if slices.Contains(events, p.event) != want {
			steps.Fail("%s the event is listed: %t", when, !want)
		}
	}
}

// eventsAreListed: with a user inside as with a user in line.
func eventsAreListed(p *player) {
	q := p.other(rules)
	p.r = limited(1)
	p.listed("before anybody came", false)
	p.enter("a")
	p.listed("with somebody inside", true)
	q.listed("before anybody came", false)
	q.join("a")
	q.listed("with somebody in line", true)
	q.sweep()
	q.listed("after a sweep", true)
	p.listed("after a sweep of another", true)
}

// eventsAreForgotten: when they were empty for long enough, and never while they
// have users.
func eventsAreForgotten(p *player) {
	p.r = limited(1)
	p.r.Active, p.r.Seen = 1000*time.Hour, 1000*time.Hour
	sweeps := func(n int) {
		for range n {
			p.h.Advance(p.r.SweepEvery + time.Second)
			p.sweep()
		}
	}
	p.enter("a")
	sweeps(3)
	p.listed("with somebody inside", true)
	p.join("b")
	p.leave("a")
	sweeps(3)
	p.listed("with somebody in line", true)
	p.leave("b")
	p.sweep()
	p.listed("soon after the last one left", true)
	sweeps(3)
	p.listed("long after the last one left", false)
	p.enter("c")
	p.listed("with somebody inside again", true)
	p.join("d")
	p.threshold(2)
	p.admits("a place", "d")
	sweeps(3)
	p.listed("with two inside", true)
}

package queuetest

import (
	"math"
	"slices"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func entryCases() []testCase {
	return []testCase{
		{Name: "enters-at-once", Run: play(entersAtOnce)},
		{Name: "nobody-passes-the-line", Run: play(nobodyPassesTheLine)},
		{Name: "threshold-changes", Run: play(thresholdChanges)},
		{Name: "pause-and-resume", Run: play(pauseAndResume)},
		{Name: "nobody-is-nobody", Run: play(nobodyIsNobody)},
	}
}

// entersAtOnce: as many users as there are places, in one call.
func entersAtOnce(p *player) {
	p.r = limited(3)
	users := names("u", 5)
	got := p.visit(checks(users...)...)
	for i, o := range got.Outcomes {
		want := p.admitted(o.Order)
		if i >= 3 {
			want = driver.Outcome{Status: driver.Waiting, Order: o.Order, Ahead: i - 3, New: true}
		}
		if o != want || i > 0 && o.Order <= got.Outcomes[i-1].Order {
			steps.Fail("arrival %d at three places is answered %+v, want %+v with a higher order", i, o, want)
		}
	}
	if got.Joined != 5 || got.Entered != 3 {
		steps.Fail("five came and three entered, and the room is %+v", got.State)
	}
	p.counts("after five came to three places", 2, 3, 0)
}

// nobodyPassesTheLine: there is a place, and a user in line waits for it.
func nobodyPassesTheLine(p *player) {
	p.r = limited(1)
	p.enter("inside")
	p.join("first")
	p.threshold(10)
	p.join("second")
	p.one(driver.Visit{Kind: driver.Done, User: "inside"})
	p.join("third", "fourth")
	p.counts("while they wait for an admission", 4, 0, 0)
	p.admits("an admission", "first", "second", "third", "fourth")
	p.enter("fifth")
}

func thresholdChanges(p *player) {
	p.r = limited(2)
	users := names("u", 12)
	p.enter(users[:2]...)
	p.join(users[2:]...)
	p.admits("a full room")
	p.threshold(6)
	p.admits("with four more places", users[2:6]...)
	p.threshold(0)
	p.admits("a closed room")
	p.counts("nobody is expelled", 6, 6, 0)
	p.threshold(5)
	p.admits("more inside than may be")
	if got := p.visit(visits(driver.Leave, users[0], users[2])...); got.Outcomes[0].Status != driver.None || !got.Outcomes[0].New || !got.Outcomes[1].New {
		steps.Fail("two leave, and are answered %+v", got.Outcomes)
	}
	p.admits("one place", users[6])
	p.counts("a full room again", 5, 5, 0)
	p.threshold(math.MaxInt)
	p.admits("without a threshold", users[7:]...)
}

func pauseAndResume(p *player) {
	p.r = limited(5)
	p.enter("inside")
	p.pause(true)
	p.join("a", "b")
	p.admits("while paused")
	p.stands("while paused", "inside", driver.Active)
	p.threshold(9) // does not resume
	p.admits("while paused with more places")
	p.pause(false)
	p.join("c")
	p.admits("after resuming", "a", "b", "c")
}

// nobodyIsNobody: calls of a user outside the room leave nothing behind.
func nobodyIsNobody(p *player) {
	p.r = limited(1)
	for _, place := range []string{"an empty room", "a full one"} {
		for _, kind := range []driver.Kind{driver.Heartbeat, driver.Leave, driver.Done, driver.Verify} {
			steps.Within(place, func() { p.answers(driver.Visit{Kind: kind, User: "nobody", Entry: 1}, driver.Outcome{}) })
		}
		if place == "a full one" {
			break
		}
		p.counts("after nobody came", 0, 0, 0)
		if events, err := p.h.Store.Events(p.ctx); err != nil || slices.Contains(events, p.event) {
			steps.Fail("nobody has been there, and the event is listed: %t, %v", err == nil, err)
		}
		p.enter("somebody")
		p.join("next")
	}
	p.counts("after nobody came", 1, 1, 0)
}

package queuetest

import (
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func turnCases() []testCase {
	clock := []conformance.Need{NeedClock}
	return []testCase{
		{Name: "turn-takes-a-place", Run: play(turnTakesAPlace)},
		{Name: "first-poll-starts-the-time", Needs: clock, Run: play(firstPollStartsTheTime)},
		{Name: "silent-turns-hold-up-nobody", Needs: clock, Run: play(silentTurnsHoldUpNobody)},
		{Name: "no-show-ends-the-turn", Needs: clock, Run: play(noShowEndsTheTurn)},
		{Name: "missed-turn-comes-back", Needs: clock, Run: play(missedTurnComesBack)},
	}
}

// waits expects that a user whose turn has come waits for a place.
func (p *player) waits(kind driver.Kind, user string, order int64, ahead int) {
	p.answers(driver.Visit{Kind: kind, User: user}, driver.Outcome{Status: driver.Waiting, Order: order, Ahead: ahead, Turn: true})
}

// takes expects that a user whose turn has come takes a place.
func (p *player) takes(kind driver.Kind, user string, order int64) {
	p.answers(driver.Visit{Kind: kind, User: user}, p.admitted(order))
}

// turnTakesAPlace: by a poll, and a free place is that of a taker until then.
func turnTakesAPlace(p *player) {
	users, orders := p.crowd("u", 8)
	p.threshold(4)
	p.calls("four places", users[:4]...)
	p.counts("after four turns", 8, 0, 4)
	p.calls("four takers of four places")
	p.stands("behind four", users[4], driver.Waiting)
	p.leave(users[4:]...)
	p.join("late") // all places have a taker
	p.takes(driver.Check, users[0], orders[0])
	p.takes(driver.Heartbeat, users[1], orders[1])
	p.counts("after two of them polled", 3, 2, 2)
	p.threshold(2)
	p.waits(driver.Done, users[3], orders[3], 1)
	p.waits(driver.Check, users[3], orders[3], 1)
	p.waits(driver.Heartbeat, users[2], orders[2], 0)
	p.calls("a full room")
	p.leave(users[2])
	p.counts("after one of them left", 2, 2, 1)
	p.threshold(3)
	p.pause(true)
	p.waits(driver.Check, users[3], orders[3], 0)
	p.pause(false)
	p.takes(driver.Check, users[3], orders[3])
	p.calls("a full room")
	p.counts("a full room", 1, 3, 0)
}

func firstPollStartsTheTime(p *player) {
	users, orders := p.crowd("u", 2)
	p.threshold(2)
	p.calls("two places", users...)
	p.h.Advance(100 * time.Second)
	p.takes(driver.Check, users[0], orders[0])
	p.takes(driver.Heartbeat, users[1], orders[1])
	p.h.Advance(p.r.Active - 60*time.Second)
	for i, user := range users {
		o := p.stands("a minute before the end", user, driver.Active)
		if o.New || o.Entered || o.Order != orders[i] {
			steps.Fail("%s is inside by order %d, and is answered %+v", user, orders[i], o)
		}
	}
}

// silentTurnsHoldUpNobody: the front moves on over users who are silent at their turn,
// and a user that polls in time goes before all users behind.
func silentTurnsHoldUpNobody(p *player) {
	p.r.Turn = 5 * time.Second
	users, orders := p.crowd("u", 12)
	done := func(user string) { p.one(driver.Visit{Kind: driver.Done, User: user}) }
	p.threshold(2)
	p.calls("two places", users[:2]...)
	p.h.Advance(4 * time.Second)
	p.calls("while they may come")
	p.h.Advance(2 * time.Second)
	if s := p.state(); s.Entitled != 2 || s.Silent != 2 {
		steps.Fail("two are silent at their turn, and the room is %+v", s)
	}
	p.calls("two silent users", users[2:6]...)
	p.takes(driver.Check, users[3], orders[3]) // and the other place is that of users[2]
	p.waits(driver.Check, users[5], orders[5], 4)
	p.h.Advance(6 * time.Second)
	p.calls("a place with a taker")
	p.takes(driver.Check, users[0], orders[0]) // silent until now
	p.waits(driver.Check, users[1], orders[1], 0)
	p.waits(driver.Check, users[5], orders[5], 3)
	done(users[3])
	p.waits(driver.Check, users[5], orders[5], 3) // the place is that of users[1]
	p.join("newcomer")
	p.takes(driver.Heartbeat, users[1], orders[1])
	done(users[0])
	p.takes(driver.Check, users[5], orders[5])
	p.counts("at the end", 9, 2, 2)
}

func noShowEndsTheTurn(p *player) {
	users, orders := p.crowd("u", 4)
	p.threshold(2)
	p.calls("two places", users[:2]...)
	p.threshold(0)
	p.h.Advance(p.r.NoShow - 60*time.Second)
	p.calls("a closed room")
	p.waits(driver.Heartbeat, users[1], orders[1], 1)
	p.h.Advance(61 * time.Second)
	p.stands("too late", users[0], driver.None)
	p.waits(driver.Heartbeat, users[1], orders[1], 0)
	p.threshold(2)
	p.calls("a place that nobody took", users[2])
	p.counts("after that", 3, 0, 2)
	if s := p.state(); s.NoShows != 1 || s.Expired != 0 {
		steps.Fail("one did not show up, and the room is %+v", s)
	}
	p = p.other(rules)
	users, _ = p.crowd("many", 300)
	p.threshold(len(users))
	p.calls("many places", users...)
	p.h.Advance(p.r.Seen + time.Second)
	for range 10 { // a call may do a part
		p.threshold(0)
	}
	if s := p.state(); s.NoShows != 300 || s.Entitled != 0 {
		steps.Fail("300 did not show up, and the room is %+v", s)
	}
}

// missedTurnComesBack: within Seen of the turn among the returners, also without a
// ticket; later, or after leaving, to the end.
func missedTurnComesBack(p *player) {
	users, orders := p.crowd("u", 5)
	p.threshold(4)
	p.calls("four places", users[:4]...)
	p.threshold(0)
	p.h.Advance(p.r.NoShow + time.Second)
	back := func(user string, order int64, ahead int) {
		p.answers(driver.Visit{Kind: driver.Check, User: user}, driver.Outcome{Status: driver.Waiting, Order: order, Ahead: ahead, New: true, Returner: true})
	}
	p.calls("a closed room")
	p.stands("heartbeat after the turn", users[1], driver.None)
	p.answers(driver.Visit{Kind: driver.Leave, User: users[3]}, driver.Outcome{})
	p.join(users[3])
	back(users[1], orders[1], 0)
	back(users[0], orders[0], 0)
	p.threshold(1)
	p.admits("a place", users[4])
	p.threshold(0)
	p.h.Advance(p.r.Seen - p.r.NoShow + 10*time.Second)
	p.join(users[2])
}

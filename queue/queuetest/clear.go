package queuetest

import (
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func clearCases() []testCase {
	return []testCase{
		{Name: "clear-takes-everybody-out", Run: play(clearTakesEverybodyOut)},
		{Name: "cleared-tickets-are-worth-nothing", Run: play(clearedTicketsAreWorthNothing)},
	}
}

func clearTakesEverybodyOut(p *player) {
	p.r = limited(2)
	users := names("u", 30)
	inside := p.enter(users[:2]...)
	orders := p.join(users[2:]...)
	var s snapshot
	s.shows(p, orders)
	epoch := s.epoch
	state := p.change(driver.Change{Clear: true})
	if state.Epoch == epoch || state.Waiting+state.Active+state.Entitled != 0 ||
		state.Joined+state.Entered+state.NoShows+state.Expired+state.Departed+state.Swept != 0 {
		steps.Fail("the room that was cleared in epoch %d is %+v", epoch, state)
	}
	s.shows(p, nil)
	if s.epoch != state.Epoch {
		steps.Fail("a look sees epoch %d after clearing made it %d", s.epoch, state.Epoch)
	}
	got := p.visit(append(visits(driver.Heartbeat, users...), driver.Visit{Kind: driver.Verify, User: users[0], Entry: inside[0]})...)
	for i, o := range got.Outcomes {
		if o != (driver.Outcome{}) {
			steps.Fail("visit %d after clearing is answered %+v", i, o)
		}
	}
	again := p.enter(users[29], users[28])
	if again[0] <= orders[len(orders)-1] {
		steps.Fail("order %d after clearing, and %d before", again[0], orders[len(orders)-1])
	}
	s.shows(p, p.join(users[0]))
}

// clearedTicketsAreWorthNothing: their users line up at the end, and do not make
// the room settle.
func clearedTicketsAreWorthNothing(p *player) {
	users, orders := p.crowd("u", 10)
	before := p.state()
	p.change(driver.Change{Clear: true})
	fresh := p.join("new")
	for i, user := range users[:3] {
		ticket := driver.Visit{Kind: driver.Check, User: user, Epoch: before.Epoch, Order: orders[i], Until: before.Now.Add(time.Hour)}
		got := p.visitWith(driver.Beats{Heard: [2]driver.Heard{{Epoch: before.Epoch, At: before.Now}}}, ticket)
		o := got.Outcomes[0]
		if want := (driver.Outcome{Status: driver.Waiting, Order: o.Order, Ahead: 1 + i, New: true}); o != want || o.Order <= fresh[0] {
			steps.Fail("the ticket of order %d of the cleared line is answered %+v, behind order %d", orders[i], o, fresh[0])
		}
	}
	if s := p.state(); s.Settling != 0 {
		steps.Fail("a ticket of a line that was cleared settles the room for %s", s.Settling)
	}
}

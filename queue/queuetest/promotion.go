package queuetest

import (
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func promotionCases() []testCase {
	return []testCase{
		{Name: "goes-on-above-what-is-known", Run: play(goesOnAboveWhatIsKnown)},
		{Name: "tickets-of-lost-writes", Run: play(ticketsOfLostWrites)},
	}
}

// goesOnAboveWhatIsKnown: a process knows of orders that the store has lost.
func goesOnAboveWhatIsKnown(p *player) {
	orders := p.join("a", "b")
	last := orders[1] + 1000
	for i, user := range []string{"plain", "after", "with a heartbeat", "later"} {
		all := checks(user)
		if i == 2 {
			all = append(all, driver.Visit{Kind: driver.Heartbeat, User: "a"})
		}
		known := driver.Beats{Highest: last}
		if i%2 == 1 {
			known.Highest = orders[0] // another process knows of less
		}
		got := p.visitWith(known, all...)
		o := got.Outcomes[0]
		if want := (driver.Outcome{Status: driver.Waiting, Order: o.Order, Ahead: 2 + i, New: true}); o != want || o.Order <= last {
			steps.Fail("%s comes after order %d is known, and is answered %+v", user, last, o)
		}
		last = o.Order + int64(i%2)*70_000
	}
}

// ticketsOfLostWrites are of this epoch, and of orders that the store does not know.
// Each counts once, before all later users, and while its owner was not silent
// for longer than others may be.
func ticketsOfLostWrites(p *player) {
	orders := p.join("a", "b")
	last := orders[1]
	got := p.visitWith(driver.Beats{Highest: last + 100}, checks("after the loss")...)
	after := got.Outcomes[0].Order
	ticket := func(user string, order int64, until time.Time) driver.Visit {
		return driver.Visit{Kind: driver.Check, User: user, Epoch: got.Epoch, Order: order, Until: until}
	}
	soon, ago := got.Now.Add(time.Minute), got.Now.Add(-p.r.Seen-2*time.Second)
	for _, one := range []struct {
		v     driver.Visit
		ahead int
		own   bool
	}{
		{ticket("second", last+20, soon), 2, true},
		{ticket("first", last+10, got.Now.Add(time.Minute-p.r.Seen)), 2, true},
		{ticket("a twin", last+20, soon), 5, false},
		{ticket("silent", last+30, ago), 6, false},
		{ticket("given since", after, soon), 7, false},
		{ticket("last", after+50, soon), 8, true},
		{driver.Visit{Kind: driver.Check, User: "new"}, 9, false},
	} {
		order := p.linesUp(one.v, one.ahead)
		if one.own != (one.v.Order > 0 && order == one.v.Order) {
			steps.Fail("after orders up to %d were lost, and %d was given, %+v gets order %d", last+100, after, one.v, order)
		}
	}
	if s := p.state(); s.Settling != 0 {
		steps.Fail("tickets of lost writes settle the room for %s", s.Settling)
	}
}

package queuetest

import (
	"slices"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func keptCases() []testCase {
	clock := []conformance.Need{NeedClock}
	return []testCase{
		{Name: "kept-place-after-silence", Needs: clock, Run: play(keptPlaceAfterSilence)},
		{Name: "kept-place-is-used-once", Needs: clock, Run: play(keptPlaceIsUsedOnce)},
		{Name: "no-place-is-kept", Needs: clock, Run: play(noPlaceIsKept)},
		{Name: "returners-take-every-fourth-turn", Needs: clock, Run: play(returnersTakeEveryFourthTurn)},
		{Name: "returners-take-places-in-order", Needs: clock, Run: play(returnersTakePlacesInOrder)},
		{Name: "returners-raise-no-position", Needs: clock, Run: play(returnersRaiseNoPosition)},
	}
}

func keeping() driver.Rules {
	r := rules
	r.Keep = time.Hour
	return r
}

// ticket is that of a user's order, sealed now.
func (p *player) ticket(user string, order int64) driver.Visit {
	s := p.state()
	return driver.Visit{Kind: driver.Check, User: user, Epoch: s.Epoch, Order: order, Until: s.Now.Add(time.Minute)}
}

// silent lets the time pass until the users that are not named are swept, and returns the
// tickets of those.
func (p *player) silent(users []string, orders []int64, alive ...string) []driver.Visit {
	var tickets []driver.Visit
	for i, user := range users {
		if slices.Contains(alive, user) {
			continue
		}
		tickets = append(tickets, p.ticket(user, orders[i]))
	}
	for range 3 {
		p.h.Advance(p.r.Seen/3 + precision/3)
		p.visit(visits(driver.Heartbeat, alive...)...)
	}
	if n := p.sweep(); n != len(tickets) {
		steps.Fail("%d of %d were silent, and %d were swept", len(tickets), len(users), n)
	}
	return tickets
}

// comesBack expects that a user comes back among the returners.
func (p *player) comesBack(ticket driver.Visit, ahead int) {
	p.answers(ticket, driver.Outcome{Status: driver.Waiting, Order: ticket.Order, Ahead: ahead, New: true, Returner: true})
}

// joinsBehind expects that a user with a ticket goes to the end of the line.
func (p *player) joinsBehind(when string, ticket driver.Visit, ahead int) {
	steps.Within(when, func() {
		if p.linesUp(ticket, ahead) == ticket.Order {
			steps.Fail("%s comes back to order %d", ticket.User, ticket.Order)
		}
	})
}

// keptPlaceAfterSilence: a user that was swept, or was late for the turn, waits among the
// returners, by the order of the old place.
func keptPlaceAfterSilence(p *player) {
	p.r = keeping()
	users, orders := p.crowd("u", 6)
	p.threshold(1)
	p.calls("a place", users[0])
	p.threshold(0)
	late := p.ticket(users[0], orders[0]) // no sweep: its turn ends
	tickets := p.silent(users[1:], orders[1:], users[1], users[3], users[5])
	tickets = append([]driver.Visit{late}, tickets...)
	p.counts("after the silence", 3, 0, 0)
	p.comesBack(tickets[2], 0)
	p.comesBack(tickets[0], 0)
	p.comesBack(tickets[1], 1)
	if s := p.state(); s.Waiting != 6 || s.Returning != 3 || s.Returned != 3 || s.NoShows != 1 || s.Swept != 2 || s.Joined != 6 {
		steps.Fail("three of six came back, and the room is %+v", s)
	}
	p.answers(driver.Visit{Kind: driver.Heartbeat, User: users[4]}, driver.Outcome{Status: driver.Waiting, Order: orders[4], Ahead: 2, Returner: true})
	p.leave(users[0], users[2])
	p.joinsBehind("after leaving", tickets[0], 3)
	p.threshold(4)
	p.calls("four places", users[1], users[3], users[5], users[4])
	p.takes(driver.Check, users[4], orders[4])
}

// keptPlaceIsUsedOnce: a returner that is silent, or late for the turn, goes to the end.
func keptPlaceIsUsedOnce(p *player) {
	p.r = keeping()
	users, orders := p.crowd("u", 4)
	tickets := p.silent(users, orders, users[3])
	for i, ticket := range tickets {
		p.comesBack(ticket, i)
	}
	p.threshold(2)
	p.admits("two places, of which one is for a returner", users[3], users[0])
	p.visit(visits(driver.Done, users[3], users[0])...)
	p.threshold(1)
	p.calls("a place", users[1])
	p.threshold(0)
	p.join("new")
	p.silent(users[2:3], orders[2:3], "new")
	p.joinsBehind("after being inside", tickets[0], 1)
	p.joinsBehind("late for a second time", tickets[1], 2)
	p.joinsBehind("silent for a second time", tickets[2], 3)
}

// noPlaceIsKept: of users that were not silent, and for longer than Rules.Keep.
func noPlaceIsKept(p *player) {
	p.r = keeping()
	users, orders := p.crowd("u", 6)
	tickets := []driver.Visit{p.ticket(users[0], orders[0]), p.ticket(users[1], orders[1])}
	p.threshold(1)
	p.admits("a place", users[0])
	p.threshold(0)
	p.leave(users[0], users[1])
	p.joinsBehind("after being inside", tickets[0], 4)
	p.joinsBehind("after leaving the line", tickets[1], 5)
	late := p.silent(users[2:5], orders[2:5], users[0], users[1], users[5])
	for p.r.Keep -= p.r.Seen; p.r.Keep > 0; p.r.Keep -= 5 * time.Minute {
		p.h.Advance(5 * time.Minute)
		p.visit(visits(driver.Heartbeat, users[0], users[1], users[5])...)
	}
	p.r.Keep = time.Hour
	other := late[1]
	other.Order = orders[5] + 1000
	p.h.Advance(3 * time.Minute)
	p.joinsBehind("too late", late[0], 3)
	other.Until = time.Time{}
	p.joinsBehind("with an order of no user", other, 4)
	p.join(late[2].User) // without a ticket
}

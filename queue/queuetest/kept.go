package queuetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue/driver"
)

func keptCases() []testCase {
	clock := []conformance.Need{NeedClock}
	return []testCase{
		{Name: "kept-place-after-silence", Needs: clock, Run: keptPlaceAfterSilence},
		{Name: "kept-place-is-used-once", Needs: clock, Run: keptPlaceIsUsedOnce},
		{Name: "no-place-is-kept", Needs: clock, Run: noPlaceIsKept},
		{Name: "returners-take-every-fourth-turn", Needs: clock, Run: returnersTakeEveryFourthTurn},
		{Name: "returners-raise-no-position", Needs: clock, Run: returnersRaiseNoPosition},
	}
}

func keeping() driver.Rules {
	r := rules
	r.Keep = time.Hour
	return r
}

// ticket is that of a user's order, sealed now.
func (p *player) ticket(user string, order int64) (driver.Visit, error) {
	s, err := p.state()
	return driver.Visit{Kind: driver.Check, User: user, Epoch: s.Epoch, Order: order, Until: s.Now.Add(time.Minute)}, err
}

// silent lets the time pass until the users that are not named are swept, and returns the
// tickets of those.
func (p *player) silent(users []string, orders []int64, alive ...string) ([]driver.Visit, error) {
	var tickets []driver.Visit
	for i, user := range users {
		if slices.Contains(alive, user) {
			continue
		}
		ticket, err := p.ticket(user, orders[i])
		if err != nil {
			return nil, err
		}
		tickets = append(tickets, ticket)
	}
	for range 3 {
		p.h.Advance(p.r.Seen/3 + precision/3)
		if _, err := p.visit(visits(driver.Heartbeat, alive...)...); err != nil {
			return nil, err
		}
	}
	n, err := p.sweep()
	if err == nil && n != len(tickets) {
		err = fmt.Errorf("%d of %d were silent, and %d were swept", len(tickets), len(users), n)
	}
	return tickets, err
}

// comesBack expects that a user comes back among the returners.
func (p *player) comesBack(ticket driver.Visit, ahead int) error {
	o, err := p.one(ticket)
	if want := (driver.Outcome{Status: driver.Waiting, Order: ticket.Order, Ahead: ahead, New: true, Returner: true}); err == nil && o != want {
		err = fmt.Errorf("%s comes back to order %d, and is answered %+v, want %+v", ticket.User, ticket.Order, o, want)
	}
	return err
}

// joinsBehind expects that a user with a ticket goes to the end of the line.
func (p *player) joinsBehind(when string, ticket driver.Visit, ahead int) error {
	o, err := p.one(ticket)
	if want := (driver.Outcome{Status: driver.Waiting, Order: o.Order, Ahead: ahead, New: true}); err == nil && (o != want || o.Order == ticket.Order) {
		err = fmt.Errorf("%s %s comes back to order %d, and is answered %+v, want %+v", when, ticket.User, ticket.Order, o, want)
	}
	return err
}

// keptPlaceAfterSilence: a user that was swept, or was late for the turn, waits among the
// returners, by the order of the old place.
func keptPlaceAfterSilence(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, keeping())
	users := names("u", 6)
	orders, err := p.join(users...)
	if err != nil {
		return err
	}
	if err := steps(
		func() error { return p.threshold(1) },
		func() error { return p.calls("a place", users[0]) },
		func() error { return p.threshold(0) },
	); err != nil {
		return err
	}
	late, err := p.ticket(users[0], orders[0]) // no sweep: its turn ends
	if err != nil {
		return err
	}
	tickets, err := p.silent(users[1:], orders[1:], users[1], users[3], users[5])
	if err != nil {
		return err
	}
	tickets = append([]driver.Visit{late}, tickets...)
	return steps(
		func() error { return p.counts("after the silence", 3, 0, 0) },
		func() error { return p.comesBack(tickets[2], 0) },
		func() error { return p.comesBack(tickets[0], 0) },
		func() error { return p.comesBack(tickets[1], 1) },
		func() error {
			s, err := p.state()
			if err == nil && (s.Waiting != 6 || s.Returning != 3 || s.Returned != 3 || s.NoShows != 1 || s.Swept != 2 || s.Joined != 6) {
				err = fmt.Errorf("three of six came back, and the room is %+v", s)
			}
			return err
		},
		func() error {
			o, err := p.one(driver.Visit{Kind: driver.Heartbeat, User: users[4]})
			if want := (driver.Outcome{Status: driver.Waiting, Order: orders[4], Ahead: 2, Returner: true}); err == nil && o != want {
				err = fmt.Errorf("the last of three returners is answered %+v, want %+v", o, want)
			}
			return err
		},
		func() error { _, err := p.visit(visits(driver.Leave, users[0], users[2])...); return err },
		func() error { return p.joinsBehind("after leaving", tickets[0], 3) },
		func() error { return p.threshold(4) },
		func() error { return p.calls("four places", users[1], users[3], users[5], users[4]) },
		func() error {
			o, err := p.one(driver.Visit{Kind: driver.Check, User: users[4]})
			if want := (driver.Outcome{Status: driver.Active, Order: orders[4], Left: p.r.Active, New: true, Entered: true}); err == nil && o != want {
				err = fmt.Errorf("a returner takes a place, and is answered %+v, want %+v", o, want)
			}
			return err
		},
	)
}

// ticketsOf are the tickets of some users.
func (p *player) ticketsOf(users []string, orders []int64, which ...int) (tickets []driver.Visit, err error) {
	for _, i := range which {
		ticket, err := p.ticket(users[i], orders[i])
		if err != nil {
			return nil, err
		}
		tickets = append(tickets, ticket)
	}
	return tickets, nil
}

// keptPlaceIsUsedOnce: a returner that is silent, or late for the turn, goes to the end.
func keptPlaceIsUsedOnce(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, keeping())
	users := names("u", 4)
	orders, err := p.join(users...)
	if err != nil {
		return err
	}
	tickets, err := p.silent(users, orders, users[3])
	if err != nil {
		return err
	}
	for i, ticket := range tickets {
		if err := p.comesBack(ticket, i); err != nil {
			return err
		}
	}
	if err := steps(
		func() error { return p.threshold(2) },
		func() error { return p.admits("two places, of which one is for a returner", users[3], users[0]) },
		func() error { _, err := p.visit(visits(driver.Done, users[3], users[0])...); return err },
		func() error { return p.threshold(1) },
		func() error { return p.calls("a place", users[1]) },
		func() error { return p.threshold(0) },
		func() error { _, err := p.join("new"); return err },
	); err != nil {
		return err
	}
	if _, err := p.silent(users[2:3], orders[2:3], "new"); err != nil {
		return err
	}
	return steps(
		func() error { return p.joinsBehind("after being inside", tickets[0], 1) },
		func() error { return p.joinsBehind("late for a second time", tickets[1], 2) },
		func() error { return p.joinsBehind("silent for a second time", tickets[2], 3) },
	)
}

// noPlaceIsKept: of users that were not silent, and for longer than Rules.Keep.
func noPlaceIsKept(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, keeping())
	users := names("u", 6)
	orders, err := p.join(users...)
	if err != nil {
		return err
	}
	tickets, err := p.ticketsOf(users, orders, 0, 1)
	if err != nil {
		return err
	}
	if err := steps(
		func() error { return p.threshold(1) },
		func() error { return p.admits("a place", users[0]) },
		func() error { return p.threshold(0) },
		func() error { _, err := p.visit(visits(driver.Leave, users[0], users[1])...); return err },
		func() error { return p.joinsBehind("after being inside", tickets[0], 4) },
		func() error { return p.joinsBehind("after leaving the line", tickets[1], 5) },
	); err != nil {
		return err
	}
	late, err := p.silent(users[2:5], orders[2:5], users[0], users[1], users[5])
	if err != nil {
		return err
	}
	for p.r.Keep -= p.r.Seen; p.r.Keep > 0; p.r.Keep -= 5 * time.Minute {
		h.Advance(5 * time.Minute)
		if _, err := p.visit(visits(driver.Heartbeat, users[0], users[1], users[5])...); err != nil {
			return err
		}
	}
	p.r.Keep = time.Hour
	other := late[1]
	other.Order = orders[5] + 1000
	h.Advance(3 * time.Minute)
	return steps(
		func() error { return p.joinsBehind("too late", late[0], 3) },
		func() error { other.Until = time.Time{}; return p.joinsBehind("with an order of no user", other, 4) },
		func() error { _, err := p.join(late[2].User); return err }, // without a ticket
	)
}

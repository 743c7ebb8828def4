package queuetest

import (
	"slices"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

// returnersTakeEveryFourthTurn, in the order of their places and however many turns come
// at a time; and all when the line is empty.
func returnersTakeEveryFourthTurn(p *player) {
	for _, batch := range []int{1, 3, 20} {
		p := p.other(keeping())
		users, orders := p.crowd("r", 6)
		tickets := p.silent(users, orders)
		line, _ := p.crowd("l", 16)
		for _, i := range []int{5, 2, 0, 4, 1, 3} {
			p.one(tickets[i])
		}
		p.r.Batch = batch
		p.threshold(len(line) + len(users))
		var got []string
		for range (len(line)+len(users))/batch + 2 {
			p.h.Advance(p.r.Tick)
			got = append(got, usersOf(p.admit().Admitted)...)
		}
		var want []string
		for i, user := range line {
			if want = append(want, user); i%3 == 2 {
				want = append(want, users[i/3])
			}
		}
		want = append(want, users[5])
		if !slices.Equal(got, want) {
			steps.Fail("in batches of %d the turns were those of %v, want %v", batch, got, want)
		}
	}
}

// returnersTakePlacesInOrder, also those whose orders follow one another.
func returnersTakePlacesInOrder(p *player) {
	p.r = keeping()
	users, orders := p.crowd("r", 4)
	p.visit(p.silent(users, orders)...)
	p.threshold(4)
	p.calls("four places", users...)
	p.threshold(1)
	for i := 3; i > 0; i-- {
		p.answers(driver.Visit{Kind: driver.Heartbeat, User: users[i]}, driver.Outcome{Status: driver.Waiting, Order: orders[i], Ahead: i, Turn: true, Returner: true})
	}
	p.takes(driver.Heartbeat, users[0], orders[0])
}

// returnersRaiseNoPosition of the line: not by coming back, not by their turns, and not by
// taking a place.
func returnersRaiseNoPosition(p *player) {
	p.r = keeping()
	users, orders := p.crowd("r", 6)
	tickets := p.silent(users, orders)
	shown := positions{p: p, users: names("l", 20)}
	p.join(shown.users...)
	for i, ticket := range tickets {
		p.one(ticket)
		shown.look("after a return")
		p.threshold(3 * (i + 1))
		p.admit()
		shown.look("after some turns")
		p.visit(visits(driver.Heartbeat, users...)...)
		shown.look("after polls of the returners")
	}
}

// positions are those that the users of a line were shown.
type positions struct {
	p     *player
	users []string
	ahead map[string]int
}

// look polls for all users that are not inside, before those with a turn can take a place
// and after it.
func (s *positions) look(when string) {
	s.p.pause(true)
	s.poll(when)
	s.p.pause(false)
	s.p.visit(visits(driver.Heartbeat, s.users...)...)
	s.poll(when)
}

// poll expects that no position has risen, and that a snapshot tells the same ones as the
// store.
func (s *positions) poll(when string) {
	if s.ahead == nil {
		s.ahead = map[string]int{}
	}
	got := s.p.visit(visits(driver.Heartbeat, s.users...)...)
	before := got.Entitled
	for i, o := range got.Outcomes {
		user := s.users[i]
		if o.Status != driver.Waiting {
			continue
		}
		if was, known := s.ahead[user]; known && o.Ahead > was {
			steps.Fail("%s %d are ahead of %s, and %d were", when, o.Ahead, user, was)
		}
		if s.ahead[user] = o.Ahead; o.Turn {
			continue
		}
		if o.Ahead != before {
			steps.Fail("%s %d are ahead of %s, and %d by the bits of the line and the room %+v", when, o.Ahead, user, before, got.State)
		}
		before++
	}
}

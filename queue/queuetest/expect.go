package queuetest

import (
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

// join checks users in, and expects that all line up as new ones at the end.
func (p *player) join(users ...string) []int64 {
	before := p.state()
	got := p.visit(checks(users...)...)
	orders := make([]int64, len(users))
	for i, o := range got.Outcomes {
		if o.Status != driver.Waiting || !o.New || o.Ahead != before.Waiting-before.Laned-before.Returning+i {
			steps.Fail("%s comes to %d who wait, and is answered %+v", users[i], before.Waiting+i, o)
		}
		if orders[i] = o.Order; i > 0 && orders[i] <= orders[i-1] {
			steps.Fail("%s has order %d, and %s before them %d", users[i], orders[i], users[i-1], orders[i-1])
		}
	}
	if got.Waiting != before.Waiting+len(users) {
		steps.Fail("%d wait after %d joined %d", got.Waiting, len(users), before.Waiting)
	}
	return orders
}

// crowd has so many users join, and returns them with their orders.
func (p *player) crowd(prefix string, n int) (users []string, orders []int64) {
	users = names(prefix, n)
	return users, p.join(users...)
}

// enter checks users in, and expects that all are admitted at once.
func (p *player) enter(users ...string) []int64 {
	got := p.visit(checks(users...)...)
	orders := make([]int64, len(users))
	for i, o := range got.Outcomes {
		if o.Status != driver.Active || !o.New || !o.Entered || o.Left != p.r.Active {
			steps.Fail("%s comes to an empty room, and is answered %+v", users[i], o)
		}
		orders[i] = o.Order
	}
	return orders
}

// answers makes a visit, and expects this outcome.
func (p *player) answers(v driver.Visit, want driver.Outcome) {
	if o := p.one(v); o != want {
		steps.Fail("%+v is answered %+v, want %+v", v, o, want)
	}
}

// linesUp makes a visit, expects that its user lines up as a new one with so many ahead, and
// returns the order.
func (p *player) linesUp(v driver.Visit, ahead int) int64 {
	o := p.one(v)
	if want := (driver.Outcome{Status: driver.Waiting, Order: o.Order, Ahead: ahead, New: true}); o != want {
		steps.Fail("%+v is answered %+v, want %+v", v, o, want)
	}
	return o.Order
}

// admitted is the outcome by which a user takes a place.
func (p *player) admitted(order int64) driver.Outcome {
	return driver.Outcome{Status: driver.Active, Order: order, Left: p.r.Active, New: true, Entered: true}
}

// admits expects that the turns of exactly these users come, in their order, and that
// each takes a place with a poll.
func (p *player) admits(when string, users ...string) {
	p.calls(when, users...)
	if len(users) == 0 {
		return
	}
	got := p.visit(visits(driver.Heartbeat, users...)...)
	for i, o := range got.Outcomes {
		if o != p.admitted(o.Order) {
			steps.Fail("%s the turn of %s has come, and a poll is answered %+v", when, users[i], o)
		}
	}
}

// calls expects that the turns of exactly these users come, in their order.
func (p *player) calls(when string, users ...string) {
	var a driver.Admission
	steps.Within(when, func() { a = p.admit() })
	if got := usersOf(a.Admitted); !slices.Equal(got, users) {
		steps.Fail("%s: %s, want %s", when, abbreviate("admitted", got), abbreviate("those", users))
	}
}

func usersOf(admitted []driver.Admitted) []string {
	users := make([]string, len(admitted))
	for i, one := range admitted {
		users[i] = one.User
	}
	return users
}

func abbreviate(what string, users []string) string {
	if len(users) > 8 {
		return fmt.Sprintf("%s %v … %v (%d)", what, users[:4], users[len(users)-4:], len(users))
	}
	return fmt.Sprintf("%s %v", what, users)
}

func (p *player) leave(users ...string) { p.visit(visits(driver.Leave, users...)...) }

// stands expects a user's status, and returns the outcome of the heartbeat that
// asks for it.
func (p *player) stands(when, user string, want driver.Status) driver.Outcome {
	o := p.one(driver.Visit{Kind: driver.Heartbeat, User: user})
	if o.Status != want {
		steps.Fail("%s %s has %+v, want status %d", when, user, o, want)
	}
	return o
}

// counts expects how many users wait and are active, and the turn of how many of those
// that wait has come.
func (p *player) counts(when string, waiting, active, entitled int) {
	if s := p.state(); s.Waiting != waiting || s.Active != active || s.Entitled != entitled {
		steps.Fail("%s %d wait, %d are active, and %d turns have come; want %d, %d, %d",
			when, s.Waiting, s.Active, s.Entitled, waiting, active, entitled)
	}
}

package queuetest

import (
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/queue/driver"
)

// join checks users in, and expects that all line up as new ones at the end.
func (p *player) join(users ...string) ([]int64, error) {
	before, err := p.state()
	if err != nil {
		return nil, err
	}
	got, err := p.visit(checks(users...)...)
	if err != nil {
		return nil, err
	}
	orders := make([]int64, len(users))
	for i, o := range got.Outcomes {
		if o.Status != driver.Waiting || !o.New || o.Ahead != before.Waiting-before.Laned-before.Returning+i {
			return nil, fmt.Errorf("%s comes to %d who wait, and is answered %+v", users[i], before.Waiting+i, o)
		}
		if orders[i] = o.Order; i > 0 && orders[i] <= orders[i-1] {
			return nil, fmt.Errorf("%s has order %d, and %s before them %d", users[i], orders[i], users[i-1], orders[i-1])
		}
	}
	if got.Waiting != before.Waiting+len(users) {
		return nil, fmt.Errorf("%d wait after %d joined %d", got.Waiting, len(users), before.Waiting)
	}
	return orders, nil
}

// enter checks users in, and expects that all are admitted at once.
func (p *player) enter(users ...string) ([]int64, error) {
	got, err := p.visit(checks(users...)...)
	if err != nil {
		return nil, err
	}
	orders := make([]int64, len(users))
	for i, o := range got.Outcomes {
		if o.Status != driver.Active || !o.New || !o.Entered || o.Left != p.r.Active {
			return nil, fmt.Errorf("%s comes to an empty room, and is answered %+v", users[i], o)
		}
		orders[i] = o.Order
	}
	return orders, nil
}

// admits expects that the turns of exactly these users come, in their order, and that
// each takes a place with a poll.
func (p *player) admits(when string, users ...string) error {
	if err := p.calls(when, users...); err != nil || len(users) == 0 {
		return err
	}
	got, err := p.visit(visits(driver.Heartbeat, users...)...)
	if err != nil {
		return err
	}
	for i, o := range got.Outcomes {
		if want := (driver.Outcome{Status: driver.Active, Order: o.Order, Left: p.r.Active, New: true, Entered: true}); o != want {
			return fmt.Errorf("%s the turn of %s has come, and a poll is answered %+v", when, users[i], o)
		}
	}
	return nil
}

// calls expects that the turns of exactly these users come, in their order.
func (p *player) calls(when string, users ...string) error {
	a, err := p.admit()
	if err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	got := make([]string, len(a.Admitted))
	for i, one := range a.Admitted {
		got[i] = one.User
	}
	if !slices.Equal(got, users) {
		return fmt.Errorf("%s: %s, want %s", when, abbreviate("admitted", got), abbreviate("those", users))
	}
	return nil
}

func abbreviate(what string, users []string) string {
	if len(users) > 8 {
		return fmt.Sprintf("%s %v … %v (%d)", what, users[:4], users[len(users)-4:], len(users))
	}
	return fmt.Sprintf("%s %v", what, users)
}

// stands expects a user's status, and returns the outcome of the heartbeat that
// asks for it.
func (p *player) stands(when, user string, want driver.Status) (driver.Outcome, error) {
	o, err := p.one(driver.Visit{Kind: driver.Heartbeat, User: user})
	if err == nil && o.Status != want {
		err = fmt.Errorf("%s %s has %+v, want status %d", when, user, o, want)
	}
	return o, err
}

// counts expects how many users wait and are active, and the turn of how many of those
// that wait has come.
func (p *player) counts(when string, waiting, active, entitled int) error {
	s, err := p.state()
	if err == nil && (s.Waiting != waiting || s.Active != active || s.Entitled != entitled) {
		err = fmt.Errorf("%s %d wait, %d are active, and %d turns have come; want %d, %d, %d",
			when, s.Waiting, s.Active, s.Entitled, waiting, active, entitled)
	}
	return err
}

package queuetest

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

func clearCases() []testCase {
	return []testCase{
		{Name: "clear-takes-everybody-out", Run: clearTakesEverybodyOut},
		{Name: "cleared-tickets-are-worth-nothing", Run: clearedTicketsAreWorthNothing},
	}
}

func clearTakesEverybodyOut(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(2))
	users := names("u", 30)
	inside, err := p.enter(users[:2]...)
	if err != nil {
		return err
	}
	orders, err := p.join(users[2:]...)
	if err != nil {
		return err
	}
	var s snapshot
	if err := s.shows(p, orders); err != nil {
		return err
	}
	epoch := s.epoch
	state, err := p.change(driver.Change{Clear: true})
	if err != nil {
		return err
	}
	if state.Epoch == epoch || state.Waiting+state.Active+state.Entitled != 0 ||
		state.Joined+state.Entered+state.NoShows+state.Expired+state.Departed+state.Swept != 0 {
		return fmt.Errorf("the room that was cleared in epoch %d is %+v", epoch, state)
	}
	if err := s.shows(p, nil); err != nil {
		return err
	}
	if s.epoch != state.Epoch {
		return fmt.Errorf("a look sees epoch %d after clearing made it %d", s.epoch, state.Epoch)
	}
	got, err := p.visit(append(visits(driver.Heartbeat, users...), driver.Visit{Kind: driver.Verify, User: users[0], Entry: inside[0]})...)
	if err != nil {
		return err
	}
	for i, o := range got.Outcomes {
		if o != (driver.Outcome{}) {
			return fmt.Errorf("visit %d after clearing is answered %+v", i, o)
		}
	}
	again, err := p.enter(users[29], users[28])
	if err != nil {
		return err
	}
	if again[0] <= orders[len(orders)-1] {
		return fmt.Errorf("order %d after clearing, and %d before", again[0], orders[len(orders)-1])
	}
	fresh, err := p.join(users[0])
	if err != nil {
		return err
	}
	return s.shows(p, fresh)
}

// clearedTicketsAreWorthNothing: their users line up at the end, and do not make
// the room settle.
func clearedTicketsAreWorthNothing(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", 10)
	orders, err := p.join(users...)
	if err != nil {
		return err
	}
	before, err := p.state()
	if err != nil {
		return err
	}
	if _, err := p.change(driver.Change{Clear: true}); err != nil {
		return err
	}
	fresh, err := p.join("new")
	if err != nil {
		return err
	}
	for i, user := range users[:3] {
		ticket := driver.Visit{Kind: driver.Check, User: user, Epoch: before.Epoch, Order: orders[i], Until: before.Now.Add(time.Hour)}
		got, err := p.visitWith(driver.Beats{Heard: [2]driver.Heard{{Epoch: before.Epoch, At: before.Now}}}, ticket)
		if err != nil {
			return err
		}
		o := got.Outcomes[0]
		if want := (driver.Outcome{Status: driver.Waiting, Order: o.Order, Ahead: 1 + i, New: true}); o != want || o.Order <= fresh[0] {
			return fmt.Errorf("the ticket of order %d of the cleared line is answered %+v, behind order %d", orders[i], o, fresh[0])
		}
	}
	s, err := p.state()
	if err == nil && s.Settling != 0 {
		err = fmt.Errorf("a ticket of a line that was cleared settles the room for %s", s.Settling)
	}
	return err
}

package queuetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue/driver"
)

func lossCases() []testCase {
	loss, both := []conformance.Need{NeedLoss}, []conformance.Need{NeedLoss, NeedClock}
	return []testCase{
		{Name: "loss-begins-an-epoch", Needs: loss, Run: lossBeginsAnEpoch},
		{Name: "lost-line-forms-again", Needs: loss, Run: lostLineFormsAgain},
		{Name: "lost-ticket-counts-once", Needs: loss, Run: lostTicketCountsOnce},
		{Name: "room-settles-after-a-loss", Needs: both, Run: roomSettlesAfterALoss},
		{Name: "newcomer-before-the-first-ticket", Needs: both, Run: newcomerBeforeTheFirstTicket},
		{Name: "ticket-to-a-settled-room", Needs: both, Run: ticketToASettledRoom},
		{Name: "ticket-from-before-the-loss", Needs: both, Run: ticketFromBeforeTheLoss},
		{Name: "ticket-from-before-an-outage", Needs: both, Run: ticketFromBeforeAnOutage},
		{Name: "ticket-of-a-lapsed-room", Needs: both, Run: ticketOfALapsedRoom},
	}
}

// lost lines users up, makes the store lose them, and returns their tickets, which
// were renewed a moment ago.
func (p *player) lost(users ...string) ([]driver.Visit, error) {
	orders, err := p.join(users...)
	if err != nil {
		return nil, err
	}
	s, err := p.state()
	if err != nil {
		return nil, err
	}
	if p.h.Advance != nil { // a clock that stands still has no room for the orders there were
		p.h.Advance(time.Second)
	}
	if err := p.h.Lose(p.ctx); err != nil {
		return nil, fmt.Errorf("lose: %w", err)
	}
	tickets := checks(users...)
	for i := range tickets {
		tickets[i].Epoch, tickets[i].Order, tickets[i].Until = s.Epoch, orders[i], s.Now.Add(time.Minute)
	}
	return tickets, nil
}

func lossBeginsAnEpoch(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	var s snapshot
	if _, err := p.join("before"); err != nil {
		return err
	}
	if _, err := s.refresh(p); err != nil {
		return err
	}
	epoch := s.epoch
	tickets, err := p.lost("a", "b")
	if err != nil {
		return err
	}
	if err := s.shows(p, nil); err != nil {
		return err
	}
	if s.epoch == epoch {
		return fmt.Errorf("the epoch is %d before and after a loss", epoch)
	}
	orders, err := p.join("newcomer")
	if err != nil {
		return err
	}
	if orders[0] <= tickets[1].Order {
		return fmt.Errorf("a newcomer has order %d after a loss, and order %d was before it", orders[0], tickets[1].Order)
	}
	beats := driver.Beats{Epoch: epoch, Orders: []int64{tickets[0].Order, orders[0]}}
	if _, err := p.visitWith(beats); err != nil {
		return err
	}
	return s.shows(p, orders)
}

// lostLineFormsAgain: users with a ticket have their old positions, in whichever
// order they come, before newcomers.
func lostLineFormsAgain(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", 700)
	tickets, err := p.lost(users...)
	if err != nil {
		return err
	}
	if _, err := p.join("newcomer"); err != nil {
		return err
	}
	r := random(4)
	r.Shuffle(len(tickets), func(i, j int) { tickets[i], tickets[j] = tickets[j], tickets[i] })
	got, err := p.visit(tickets...)
	if err != nil {
		return err
	}
	for i, o := range got.Outcomes {
		ahead := 0
		for _, before := range tickets[:i] {
			if before.Order < tickets[i].Order {
				ahead++
			}
		}
		if want := (driver.Outcome{Status: driver.Waiting, Order: tickets[i].Order, Ahead: ahead, New: true}); o != want {
			return fmt.Errorf("the ticket of order %d is answered %+v after a loss, want %+v", tickets[i].Order, o, want)
		}
	}
	if got.Settling <= 0 {
		return fmt.Errorf("tickets came to a young room, and it does not settle")
	}
	var orders []int64
	for _, ticket := range tickets {
		orders = append(orders, ticket.Order)
	}
	slices.Sort(orders)
	o, err := p.stands("at the end", "newcomer", driver.Waiting)
	if err != nil {
		return err
	}
	return new(snapshot).shows(p, append(orders, o.Order))
}

func lostTicketCountsOnce(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	tickets, err := p.lost("a", "b", "c")
	if err != nil {
		return err
	}
	got, err := p.visit(tickets[1:]...)
	if err != nil {
		return err
	}
	copied := tickets[1]
	copied.User = "copy"
	last := got.Outcomes[1].Order
	for i, v := range []driver.Visit{copied, tickets[1]} {
		if _, err := p.one(driver.Visit{Kind: driver.Leave, User: "b"}); err != nil {
			return err
		}
		o, err := p.one(v)
		if err != nil {
			return err
		}
		if o.Status != driver.Waiting || o.Ahead != 1+i || o.Order <= last {
			return fmt.Errorf("a ticket that was used is answered %+v, behind order %d", o, last)
		}
		last = o.Order
	}
	o, err := p.one(tickets[0])
	if err == nil && (o.Order != tickets[0].Order || o.Ahead != 0) {
		err = fmt.Errorf("the ticket of order %d is answered %+v", tickets[0].Order, o)
	}
	if err != nil {
		return err
	}
	// A ticket of this epoch was used when its owner lined up.
	s, err := p.state()
	if err != nil {
		return err
	}
	here := driver.Visit{Kind: driver.Check, User: "late", Epoch: s.Epoch, Order: got.Outcomes[1].Order, Until: s.Now.Add(time.Hour)}
	if o, err = p.one(here); err != nil || o.Order <= last {
		return fmt.Errorf("order %d of this epoch is answered %+v, behind order %d: %w", here.Order, o, last, orNil(err))
	}
	return nil
}

// roomSettlesAfterALoss: no user enters until those with a ticket had time to come.
func roomSettlesAfterALoss(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	tickets, err := p.lost("a", "b", "c")
	if err != nil {
		return err
	}
	p.r.Threshold = 3
	h.Advance(5 * time.Second)
	if _, err := p.one(tickets[2]); err != nil {
		return err
	}
	s, err := p.state()
	if err != nil {
		return err
	}
	if s.Settling <= 0 || s.Settling > p.r.Settle {
		return fmt.Errorf("a ticket came to a young room, which settles for %s", s.Settling)
	}
	if err := steps(
		func() error { return p.admits("while it settles") },
		func() error { _, err := p.one(driver.Visit{Kind: driver.Leave, User: "c"}); return err },
		func() error { _, err := p.join("newcomer"); return err }, // the line is empty, and all places are free
		func() error { h.Advance(s.Settling / 2); return nil },
		func() error { _, err := p.visit(tickets[1], tickets[0]); return err },
		func() error { return p.admits("while it settles") },
		func() error { h.Advance(s.Settling/2 + time.Second); return nil },
		func() error { return p.admits("when it has settled", "a", "b", "newcomer") },
	); err != nil {
		return err
	}
	s, err = p.state()
	if err == nil && s.Settling != 0 {
		err = fmt.Errorf("it has settled, and settles for %s", s.Settling)
	}
	return err
}

// newcomerBeforeTheFirstTicket: a process that knows the room before its loss closes the
// new one, so a newcomer that is faster than the tickets of the old line lines up behind.
func newcomerBeforeTheFirstTicket(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	tickets, err := p.lost("a")
	if err != nil {
		return err
	}
	p.r.Threshold = 3
	heard := [2]driver.Heard{{}, {Epoch: tickets[0].Epoch, At: tickets[0].Until.Add(-time.Minute)}}
	got, err := p.visitWith(driver.Beats{Heard: heard}, checks("newcomer")...)
	switch {
	case err != nil:
		return err
	case got.Outcomes[0].Status != driver.Waiting || got.Settling <= 0 || got.Settling > p.r.Settle:
		return fmt.Errorf("a newcomer to a room that lost its line: %+v; the room settles for %s", got.Outcomes[0], got.Settling)
	}
	return steps(
		func() error { _, err := p.one(tickets[0]); return err },
		func() error { h.Advance(got.Settling + time.Second); return nil },
		func() error { return p.admits("when it has settled", "a", "newcomer") },
	)
}

func ticketToASettledRoom(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	tickets, err := p.lost("a", "b")
	if err != nil {
		return err
	}
	if _, err := p.join("newcomer"); err != nil {
		return err
	}
	h.Advance(p.r.Settle + time.Second)
	o, err := p.one(tickets[1])
	if err != nil {
		return err
	}
	if o.Status != driver.Waiting || o.Order <= tickets[1].Order || o.Ahead != 1 {
		return fmt.Errorf("the ticket of order %d is answered %+v, and comes too late", tickets[1].Order, o)
	}
	p.r.Threshold = 3
	return p.admits("a room that is not young", "newcomer", "b")
}

// outage makes the store lose its data, and begins the room again after a time in
// which no process heard of it.
func (p *player) outage(d time.Duration) (before, after driver.State, err error) {
	if before, err = p.state(); err != nil {
		return before, after, err
	}
	p.h.Advance(d)
	if err = p.h.Lose(p.ctx); err != nil {
		return before, after, fmt.Errorf("lose: %w", err)
	}
	if after, err = p.state(); err != nil {
		return before, after, err
	}
	_, err = p.join("newcomer")
	return before, after, err
}

// counted checks a user with a ticket of an epoch that is over: it counts, and the
// user is the first, or it does not, and the user is the last.
func (p *player) counted(when string, v driver.Visit, heard driver.Heard, counts bool) error {
	waiting, err := p.state()
	if err != nil {
		return err
	}
	got, err := p.visitWith(driver.Beats{Heard: [2]driver.Heard{{}, heard}}, v)
	if err != nil {
		return err
	}
	o, ahead := got.Outcomes[0], waiting.Waiting
	if counts {
		ahead = 0
	}
	if want := (driver.Outcome{Status: driver.Waiting, Order: o.Order, Ahead: ahead, New: true}); o != want || counts != (o.Order == v.Order) {
		return fmt.Errorf("a ticket %s is answered %+v, want %+v", when, o, want)
	}
	if counts != (got.Settling > 0) {
		return fmt.Errorf("after a ticket %s the room settles for %s", when, got.Settling)
	}
	return nil
}

// ticketFromBeforeTheLoss: its owner had left the line, and joins the end. Where no
// process says when it heard of the room, the loss was at the beginning of the new room.
func ticketFromBeforeTheLoss(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	before, after, err := p.outage(3 * time.Second)
	if err != nil {
		return err
	}
	order := before.Now.UnixMicro() - 7
	ticket := func(user string, until time.Time) driver.Visit {
		order--
		return driver.Visit{Kind: driver.Check, User: user, Epoch: before.Epoch, Order: order, Until: until}
	}
	return steps(
		func() error {
			return p.counted("renewed long before", ticket("old", after.Now.Add(-time.Second)), driver.Heard{}, false)
		},
		func() error { return p.counted("without a time", ticket("older", time.Time{}), driver.Heard{}, false) },
		func() error {
			return p.counted("renewed until the end", ticket("new", after.Now.Add(time.Second)), driver.Heard{}, true)
		},
	)
}

// ticketFromBeforeAnOutage counts if it was renewed until a process last heard of
// the room: it could not be renewed since. Of several processes the last one counts.
func ticketFromBeforeAnOutage(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	before, after, err := p.outage(time.Hour)
	if err != nil {
		return err
	}
	heard := driver.Heard{Epoch: before.Epoch, At: before.Now}
	early := driver.Heard{Epoch: before.Epoch, At: before.Now.Add(-time.Hour)}
	order := before.Now.UnixMicro() - 7
	ticket := func(user string, until time.Time) driver.Visit {
		order--
		return driver.Visit{Kind: driver.Check, User: user, Epoch: before.Epoch, Order: order, Until: until}
	}
	return steps(
		func() error { // what is said of the present epoch says nothing of a loss
			heard := driver.Heard{Epoch: after.Epoch, At: before.Now}
			return p.counted("renewed before an outage that no process saw", ticket("unseen", before.Now.Add(time.Second)), heard, false)
		},
		func() error {
			return p.counted("renewed until the outage", ticket("new", before.Now.Add(time.Second)), heard, true)
		},
		func() error {
			o, err := p.one(ticket("also new", before.Now.Add(time.Second)))
			if err == nil && o.Ahead != 0 {
				err = fmt.Errorf("the store does not remember when the room was heard of: %+v", o)
			}
			return err
		},
		func() error {
			got, err := p.visitWith(driver.Beats{Heard: [2]driver.Heard{early}}, ticket("old", before.Now.Add(-time.Second)))
			if err == nil && got.Outcomes[0].Ahead != got.Waiting-1 {
				err = fmt.Errorf("a ticket renewed before the outage is answered %+v of %d", got.Outcomes[0], got.Waiting)
			}
			return err
		},
	)
}

// ticketOfALapsedRoom: a room that had no call for a day may have been forgotten, and
// its tickets with it.
func ticketOfALapsedRoom(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	before, _, err := p.outage(driver.Lapse + time.Hour)
	if err != nil {
		return err
	}
	ticket := driver.Visit{Kind: driver.Check, User: "hoarder", Epoch: before.Epoch, Order: before.Now.UnixMicro() - 7, Until: before.Now.Add(time.Minute)}
	return p.counted("of a room without a call for a day", ticket, driver.Heard{Epoch: before.Epoch, At: before.Now}, false)
}

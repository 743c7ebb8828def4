package queuetest

import (
	"slices"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func lossCases() []testCase {
	loss, both := []conformance.Need{NeedLoss}, []conformance.Need{NeedLoss, NeedClock}
	return []testCase{
		{Name: "loss-begins-an-epoch", Needs: loss, Run: play(lossBeginsAnEpoch)},
		{Name: "lost-line-forms-again", Needs: loss, Run: play(lostLineFormsAgain)},
		{Name: "lost-ticket-counts-once", Needs: loss, Run: play(lostTicketCountsOnce)},
		{Name: "room-settles-after-a-loss", Needs: both, Run: play(roomSettlesAfterALoss)},
		{Name: "newcomer-before-the-first-ticket", Needs: both, Run: play(newcomerBeforeTheFirstTicket)},
		{Name: "ticket-to-a-settled-room", Needs: both, Run: play(ticketToASettledRoom)},
		{Name: "ticket-from-before-the-loss", Needs: both, Run: play(ticketFromBeforeTheLoss)},
		{Name: "ticket-from-before-an-outage", Needs: both, Run: play(ticketFromBeforeAnOutage)},
		{Name: "ticket-of-a-lapsed-room", Needs: both, Run: play(ticketOfALapsedRoom)},
	}
}

// lose makes the store lose its data.
func (p *player) lose() {
	steps.Named(p.h.Lose(p.ctx), "lose")
}

// lost lines users up, makes the store lose them, and returns their tickets, which
// were renewed a moment ago.
func (p *player) lost(users ...string) []driver.Visit {
	orders := p.join(users...)
	s := p.state()
	if p.h.Advance != nil { // a clock that stands still has no room for the orders there were
		p.h.Advance(time.Second)
	}
	p.lose()
	tickets := checks(users...)
	for i := range tickets {
		tickets[i].Epoch, tickets[i].Order, tickets[i].Until = s.Epoch, orders[i], s.Now.Add(time.Minute)
	}
	return tickets
}

func lossBeginsAnEpoch(p *player) {
	var s snapshot
	p.join("before")
	s.refresh(p)
	epoch := s.epoch
	tickets := p.lost("a", "b")
	s.shows(p, nil)
	if s.epoch == epoch {
		steps.Fail("the epoch is %d before and after a loss", epoch)
	}
	orders := p.join("newcomer")
	if orders[0] <= tickets[1].Order {
		steps.Fail("a newcomer has order %d after a loss, and order %d was before it", orders[0], tickets[1].Order)
	}
	beats := driver.Beats{Epoch: epoch, Orders: []int64{tickets[0].Order, orders[0]}}
	p.visitWith(beats)
	s.shows(p, orders)
}

// lostLineFormsAgain: users with a ticket have their old positions, in whichever
// order they come, before newcomers.
func lostLineFormsAgain(p *player) {
	users := names("u", 700)
	tickets := p.lost(users...)
	p.join("newcomer")
	r := random(4)
	r.Shuffle(len(tickets), func(i, j int) { tickets[i], tickets[j] = tickets[j], tickets[i] })
	got := p.visit(tickets...)
	for i, o := range got.Outcomes {
		ahead := 0
		for _, before := range tickets[:i] {
			if before.Order < tickets[i].Order {
				ahead++
			}
		}
		if want := (driver.Outcome{Status: driver.Waiting, Order: tickets[i].Order, Ahead: ahead, New: true}); o != want {
			steps.Fail("the ticket of order %d is answered %+v after a loss, want %+v", tickets[i].Order, o, want)
		}
	}
	if got.Settling <= 0 {
		steps.Fail("tickets came to a young room, and it does not settle")
	}
	var orders []int64
	for _, ticket := range tickets {
		orders = append(orders, ticket.Order)
	}
	slices.Sort(orders)
	o := p.stands("at the end", "newcomer", driver.Waiting)
	new(snapshot).shows(p, append(orders, o.Order))
}

func lostTicketCountsOnce(p *player) {
	tickets := p.lost("a", "b", "c")
	got := p.visit(tickets[1:]...)
	copied := tickets[1]
	copied.User = "copy"
	last := got.Outcomes[1].Order
	for i, v := range []driver.Visit{copied, tickets[1]} {
		p.leave("b")
		o := p.one(v)
		if o.Status != driver.Waiting || o.Ahead != 1+i || o.Order <= last {
			steps.Fail("a ticket that was used is answered %+v, behind order %d", o, last)
		}
		last = o.Order
	}
	if o := p.one(tickets[0]); o.Order != tickets[0].Order || o.Ahead != 0 {
		steps.Fail("the ticket of order %d is answered %+v", tickets[0].Order, o)
	}
	// A ticket of this epoch was used when its owner lined up.
	s := p.state()
	here := driver.Visit{Kind: driver.Check, User: "late", Epoch: s.Epoch, Order: got.Outcomes[1].Order, Until: s.Now.Add(time.Hour)}
	if o := p.one(here); o.Order <= last {
		steps.Fail("order %d of this epoch is answered %+v, behind order %d", here.Order, o, last)
	}
}

// roomSettlesAfterALoss: no user enters until those with a ticket had time to come.
func roomSettlesAfterALoss(p *player) {
	tickets := p.lost("a", "b", "c")
	p.r.Threshold = 3
	p.h.Advance(5 * time.Second)
	p.one(tickets[2])
	s := p.state()
	if s.Settling <= 0 || s.Settling > p.r.Settle {
		steps.Fail("a ticket came to a young room, which settles for %s", s.Settling)
	}
	p.admits("while it settles")
	p.leave("c")
	p.join("newcomer") // the line is empty, and all places are free
	p.h.Advance(s.Settling / 2)
	p.visit(tickets[1], tickets[0])
	p.admits("while it settles")
	p.h.Advance(s.Settling/2 + time.Second)
	p.admits("when it has settled", "a", "b", "newcomer")
	if s := p.state(); s.Settling != 0 {
		steps.Fail("it has settled, and settles for %s", s.Settling)
	}
}

// newcomerBeforeTheFirstTicket: a process that knows the room before its loss closes the
// new one, so a newcomer that is faster than the tickets of the old line lines up behind.
func newcomerBeforeTheFirstTicket(p *player) {
	tickets := p.lost("a")
	p.r.Threshold = 3
	heard := [2]driver.Heard{{}, {Epoch: tickets[0].Epoch, At: tickets[0].Until.Add(-time.Minute)}}
	got := p.visitWith(driver.Beats{Heard: heard}, checks("newcomer")...)
	if got.Outcomes[0].Status != driver.Waiting || got.Settling <= 0 || got.Settling > p.r.Settle {
		steps.Fail("a newcomer to a room that lost its line: %+v; the room settles for %s", got.Outcomes[0], got.Settling)
	}
	p.one(tickets[0])
	p.h.Advance(got.Settling + time.Second)
	p.admits("when it has settled", "a", "newcomer")
}

func ticketToASettledRoom(p *player) {
	tickets := p.lost("a", "b")
	p.join("newcomer")
	p.h.Advance(p.r.Settle + time.Second)
	o := p.one(tickets[1])
	if o.Status != driver.Waiting || o.Order <= tickets[1].Order || o.Ahead != 1 {
		steps.Fail("the ticket of order %d is answered %+v, and comes too late", tickets[1].Order, o)
	}
	p.r.Threshold = 3
	p.admits("a room that is not young", "newcomer", "b")
}

// outage makes the store lose its data, and begins the room again after a time in
// which no process heard of it.
func (p *player) outage(d time.Duration) (before, after driver.State) {
	before = p.state()
	p.h.Advance(d)
	p.lose()
	after = p.state()
	p.join("newcomer")
	return before, after
}

// counted checks a user with a ticket of an epoch that is over: it counts, and the
// user is the first, or it does not, and the user is the last.
func (p *player) counted(when string, v driver.Visit, heard driver.Heard, counts bool) {
	waiting := p.state()
	got := p.visitWith(driver.Beats{Heard: [2]driver.Heard{{}, heard}}, v)
	o, ahead := got.Outcomes[0], waiting.Waiting
	if counts {
		ahead = 0
	}
	if want := (driver.Outcome{Status: driver.Waiting, Order: o.Order, Ahead: ahead, New: true}); o != want || counts != (o.Order == v.Order) {
		steps.Fail("a ticket %s is answered %+v, want %+v", when, o, want)
	}
	if counts != (got.Settling > 0) {
		steps.Fail("after a ticket %s the room settles for %s", when, got.Settling)
	}
}

// ticketsOf makes tickets of the line of a room before its loss, each of another order.
func ticketsOf(before driver.State) func(user string, until time.Time) driver.Visit {
	order := before.Now.UnixMicro() - 7
	return func(user string, until time.Time) driver.Visit {
		order--
		return driver.Visit{Kind: driver.Check, User: user, Epoch: before.Epoch, Order: order, Until: until}
	}
}

// ticketFromBeforeTheLoss: its owner had left the line, and joins the end. Where no
// process says when it heard of the room, the loss was at the beginning of the new room.
func ticketFromBeforeTheLoss(p *player) {
	before, after := p.outage(3 * time.Second)
	ticket := ticketsOf(before)
	p.counted("renewed long before", ticket("old", after.Now.Add(-time.Second)), driver.Heard{}, false)
	p.counted("without a time", ticket("older", time.Time{}), driver.Heard{}, false)
	p.counted("renewed until the end", ticket("new", after.Now.Add(time.Second)), driver.Heard{}, true)
}

// ticketFromBeforeAnOutage counts if it was renewed until a process last heard of
// the room: it could not be renewed since. Of several processes the last one counts.
func ticketFromBeforeAnOutage(p *player) {
	before, after := p.outage(time.Hour)
	heard := driver.Heard{Epoch: before.Epoch, At: before.Now}
	early := driver.Heard{Epoch: before.Epoch, At: before.Now.Add(-time.Hour)}
	ticket := ticketsOf(before)
	present := driver.Heard{Epoch: after.Epoch, At: before.Now} // says nothing of a loss
	p.counted("renewed before an outage that no process saw", ticket("unseen", before.Now.Add(time.Second)), present, false)
	p.counted("renewed until the outage", ticket("new", before.Now.Add(time.Second)), heard, true)
	if o := p.one(ticket("also new", before.Now.Add(time.Second))); o.Ahead != 0 {
		steps.Fail("the store does not remember when the room was heard of: %+v", o)
	}
	got := p.visitWith(driver.Beats{Heard: [2]driver.Heard{early}}, ticket("old", before.Now.Add(-time.Second)))
	if got.Outcomes[0].Ahead != got.Waiting-1 {
		steps.Fail("a ticket renewed before the outage is answered %+v of %d", got.Outcomes[0], got.Waiting)
	}
}

// ticketOfALapsedRoom: a room that had no call for a day may have been forgotten, and
// its tickets with it.
func ticketOfALapsedRoom(p *player) {
	before, _ := p.outage(driver.Lapse + time.Hour)
	ticket := ticketsOf(before)("hoarder", before.Now.Add(time.Minute))
	p.counted("of a room without a call for a day", ticket, driver.Heard{Epoch: before.Epoch, At: before.Now}, false)
}

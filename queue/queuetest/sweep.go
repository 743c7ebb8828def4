package queuetest

import (
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func sweepCases() []testCase {
	clock := []conformance.Need{NeedClock}
	return []testCase{
		{Name: "sweep-removes-the-silent", Needs: clock, Run: play(sweepRemovesTheSilent)},
		{Name: "sweep-in-chunks", Needs: clock, Run: play(sweepInChunks)},
		{Name: "sweep-guard", Needs: clock, Run: play(sweepGuard)},
		{Name: "beats-that-do-nothing", Needs: clock, Run: play(beatsThatDoNothing)},
	}
}

// precision is how much later than Rules.Seen a sweep may remove a user: signs of
// life are kept by the minute.
const precision = 3 * time.Minute

// sweepRemovesTheSilent: each kind of a sign of life keeps the place for several
// times Rules.Seen, and no user is removed before that time is over.
func sweepRemovesTheSilent(p *player) {
	silent, beating, checking, asking := names("s", 300), names("b", 300), names("c", 300), names("h", 300)
	var users []string
	for i := range silent { // all of them in each block
		users = append(users, silent[i], beating[i], checking[i], asking[i])
	}
	orders := p.join(users...)
	s := p.state()
	b := driver.Beats{Epoch: s.Epoch}
	for i := range orders {
		if i%4 == 1 {
			b.Orders = append(b.Orders, orders[i])
		}
	}
	alive := func(d time.Duration) {
		p.h.Advance(d)
		p.visitWith(b, visits(driver.Check, checking...)...)
		p.visit(visits(driver.Heartbeat, asking...)...)
	}
	swept := func(when string, want int) {
		if n := p.sweep(); n != want {
			steps.Fail("%s %d were removed, want %d", when, n, want)
		}
	}
	third := p.r.Seen / 3
	alive(third)
	alive(third)
	p.h.Advance(third - 20*time.Second)
	swept("within the grace", 0)
	p.counts("within the grace", 1200, 0, 0)
	alive(20*time.Second + precision)
	swept("after the grace", 300)
	got := p.visit(visits(driver.Heartbeat, users...)...)
	for i, o := range got.Outcomes {
		if want := i%4 != 0; (o.Status == driver.Waiting) != want || want && o.Ahead != i/4*3+i%4-1 {
			steps.Fail("%s, the %d. of 1,200 who came, is answered %+v after a sweep of every fourth", users[i], i+1, o)
		}
	}
	if got.Swept != 300 || got.Waiting != 900 {
		steps.Fail("300 of 1,200 were removed, and the room is %+v", got.State)
	}
	p.join(silent[0])
	alive(third)
	alive(third)
	alive(third - time.Minute)
	swept("while all are heard of", 0)
	p.h.Advance(p.r.Seen + precision)
	swept("when nobody is", 901)
	p.counts("when nobody was heard of", 0, 0, 0)
}

func sweepInChunks(p *player) {
	p.crowd("u", 2600)
	p.h.Advance(p.r.Seen + precision)
	p.join("new")
	from, calls := int64(0), 0
	for removed := 0; ; {
		s := steps.Get(p.store.Sweep(p.ctx, p.event, p.r, from))
		calls++
		if removed += s.Removed; s.Removed > driver.MaxChunk || s.Waiting != 2601-removed || s.Swept != int64(removed) {
			steps.Fail("call %d of a sweep of 2,600 removes %d after %d, and the room is %+v", calls, s.Removed, removed-s.Removed, s.State)
		}
		if s.Done {
			if removed != 2600 || calls < 6 || calls > 60 {
				steps.Fail("a sweep of 2,600 removed %d in %d calls", removed, calls)
			}
			break
		}
		from = s.Next
	}
	if o := p.stands("after the sweep", "new", driver.Waiting); o.Ahead != 0 {
		steps.Fail("alone in the line with %d ahead", o.Ahead)
	}
}

// sweepGuard: one of several instances sweeps; the others are told at once that it
// was done.
func sweepGuard(p *player) {
	p.r.SweepEvery = time.Hour // none of the time that passes by itself matters
	swept := func(when string, want int) {
		if n := p.sweep(); n != want {
			steps.Fail("%s a sweep removed %d, want %d", when, n, want)
		}
	}
	p.join("a")
	swept("at first", 0)
	p.h.Advance(p.r.Seen + precision)
	p.store = p.h.Peers[len(p.h.Peers)-1]
	swept("too soon", 0)
	p.counts("after a sweep that was too soon", 1, 0, 0)
	p.h.Advance(p.r.SweepEvery - p.r.Seen - precision + time.Second)
	swept("in time", 1)
}

// beatsThatDoNothing: of another epoch, and of orders that do not wait.
func beatsThatDoNothing(p *player) {
	users, orders := p.crowd("u", 3)
	s := p.state()
	for range 4 {
		p.h.Advance(p.r.Seen / 3)
		odd := []int64{orders[0], 1, orders[2] + 1, orders[2] + 5000, 1 << 53}
		p.visitWith(driver.Beats{Epoch: s.Epoch + 1, Orders: orders})
		p.visitWith(driver.Beats{Orders: orders})
		p.visitWith(driver.Beats{Epoch: s.Epoch, Orders: odd})
	}
	if n := p.sweep(); n != 2 {
		steps.Fail("one of three was heard of, and %d were removed", n)
	}
	p.counts("after that", 1, 0, 0)
	p.stands("after its beats", users[0], driver.Waiting)
}

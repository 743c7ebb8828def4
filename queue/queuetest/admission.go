package queuetest

import (
	"slices"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func admissionCases() []testCase {
	clock := []conformance.Need{NeedClock}
	return []testCase{
		{Name: "admission-in-chunks", Run: play(admissionInChunks)},
		{Name: "tick-guard", Needs: clock, Run: play(tickGuard)},
		{Name: "rate-of-admissions", Needs: clock, Run: play(rateOfAdmissions)},
	}
}

func admissionInChunks(p *player) {
	users, _ := p.crowd("u", 1300)
	p.threshold(1200)
	var got []string
	for i, want := range []int{driver.MaxChunk, driver.MaxChunk, 200, 0} {
		a := steps.Get(p.store.Admit(p.ctx, p.event, p.r))
		if len(a.Admitted) != want || a.More != (i < 2) {
			steps.Fail("admission %d of 1,200 lets %d in, want %d; more: %t", i, len(a.Admitted), want, a.More)
		}
		got = append(got, usersOf(a.Admitted)...)
		if a.Active != 0 || a.Entitled != len(got) || a.Entered != 0 || a.Waiting != 1300 {
			steps.Fail("the turns of %d of 1,300 have come, and the room is %+v", len(got), a.State)
		}
	}
	if !slices.Equal(got, users[:1200]) {
		steps.Fail("1,200 were not admitted in their order: %s", abbreviate("admitted", got))
	}
}

// tickGuard: several instances admit in a tick that is at least as long as it
// should be, with a batch that needs several calls.
func tickGuard(p *player) {
	p.r.Tick, p.r.Batch = time.Hour, 700
	users, _ := p.crowd("u", 2500)
	p.threshold(10_000)
	let := 0
	for round := range 3 {
		// A boundary may come between two calls, so the guard is checked against
		// the tick ends in the answers.
		ends, in := time.Time{}, 0
		for i := range 6 {
			p.store = p.h.Peers[i%len(p.h.Peers)]
			a := p.admit()
			if end := a.Now.Add(a.Next); end.Sub(ends).Abs() > 5*time.Millisecond {
				if a.Now.Before(ends.Add(-5 * time.Millisecond)) {
					steps.Fail("a tick was to end at %s, and at %s another one ends at %s", ends, a.Now, end)
				}
				ends, in = end, 0
			}
			for j, one := range a.Admitted {
				if one.User != users[let+j] {
					steps.Fail("admission %d is %s, want %s", let+j, one.User, users[let+j])
				}
			}
			in += len(a.Admitted)
			if let += len(a.Admitted); in > 700 {
				steps.Fail("%d were admitted in one tick, and may be 700", in)
			}
		}
		if let < 700*(round+1) {
			steps.Fail("%d were admitted in %d ticks of 700", let, round+1)
		}
		state := p.state()
		p.h.Advance(max(0, ends.Sub(state.Now)) + 10*time.Millisecond)
	}
}

func rateOfAdmissions(p *player) {
	p.r = limited(5)
	p.enter(names("i", 5)...)
	users, _ := p.crowd("u", 100)
	rate := func(when string, admitted int) {
		if s := p.state(); s.Rate.Admitted != admitted || (s.Rate.Over > 0) != (admitted > 0) {
			steps.Fail("%s the rate is %d in %s, want %d in some time", when, s.Rate.Admitted, s.Rate.Over, admitted)
		}
	}
	rate("after direct entries", 0)
	for i := range 3 {
		p.threshold(15 + 10*i)
		p.admits("ten places", users[10*i:10*i+10]...)
		rate("after ten more", 10+10*i)
		p.h.Advance(10 * time.Second)
	}
	s := p.state()
	if s.Rate.Over < 10*time.Second || s.Rate.Admitted != 30 {
		steps.Fail("thirty were admitted in half a minute, and the rate is %+v", s.Rate)
	}
	p.h.Advance(2 * time.Minute)
	rate("two minutes later", 0)
}

package queuetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue/driver"
)

func admissionCases() []testCase {
	clock := []conformance.Need{NeedClock}
	return []testCase{
		{Name: "admission-in-chunks", Run: admissionInChunks},
		{Name: "tick-guard", Needs: clock, Run: tickGuard},
		{Name: "rate-of-admissions", Needs: clock, Run: rateOfAdmissions},
	}
}

func admissionInChunks(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", 1300)
	if _, err := p.join(users...); err != nil {
		return err
	}
	if err := p.threshold(1200); err != nil {
		return err
	}
	var got []string
	for i, want := range []int{driver.MaxChunk, driver.MaxChunk, 200, 0} {
		a, err := p.store.Admit(ctx, p.event, p.r)
		if err != nil {
			return err
		}
		if len(a.Admitted) != want || a.More != (i < 2) {
			return fmt.Errorf("admission %d of 1,200 lets %d in, want %d; more: %t", i, len(a.Admitted), want, a.More)
		}
		for _, one := range a.Admitted {
			got = append(got, one.User)
		}
		if a.Active != 0 || a.Entitled != len(got) || a.Entered != 0 || a.Waiting != 1300 {
			return fmt.Errorf("the turns of %d of 1,300 have come, and the room is %+v", len(got), a.State)
		}
	}
	if !slices.Equal(got, users[:1200]) {
		return fmt.Errorf("1,200 were not admitted in their order: %s", abbreviate("admitted", got))
	}
	return nil
}

// tickGuard: several instances admit in a tick that is at least as long as it
// should be, with a batch that needs several calls.
func tickGuard(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	p.r.Tick, p.r.Batch = time.Hour, 700
	users := names("u", 2500)
	if _, err := p.join(users...); err != nil {
		return err
	}
	if err := p.threshold(10_000); err != nil {
		return err
	}
	let := 0
	for round := range 3 {
		// A boundary may come between two calls, so the guard is checked against
		// the tick ends in the answers.
		ends, in := time.Time{}, 0
		for i := range 6 {
			p.store = h.Peers[i%len(h.Peers)]
			a, err := p.admit()
			if err != nil {
				return err
			}
			if end := a.Now.Add(a.Next); end.Sub(ends).Abs() > 5*time.Millisecond {
				if a.Now.Before(ends.Add(-5 * time.Millisecond)) {
					return fmt.Errorf("a tick was to end at %s, and at %s another one ends at %s", ends, a.Now, end)
				}
				ends, in = end, 0
			}
			for j, one := range a.Admitted {
				if one.User != users[let+j] {
					return fmt.Errorf("admission %d is %s, want %s", let+j, one.User, users[let+j])
				}
			}
			in += len(a.Admitted)
			if let += len(a.Admitted); in > 700 {
				return fmt.Errorf("%d were admitted in one tick, and may be 700", in)
			}
		}
		if let < 700*(round+1) {
			return fmt.Errorf("%d were admitted in %d ticks of 700", let, round+1)
		}
		state, err := p.state()
		if err != nil {
			return err
		}
		h.Advance(max(0, ends.Sub(state.Now)) + 10*time.Millisecond)
	}
	return nil
}

func rateOfAdmissions(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(5))
	if _, err := p.enter(names("i", 5)...); err != nil {
		return err
	}
	users := names("u", 100)
	if _, err := p.join(users...); err != nil {
		return err
	}
	rate := func(when string, admitted int) error {
		s, err := p.state()
		if err == nil && (s.Rate.Admitted != admitted || (s.Rate.Over > 0) != (admitted > 0)) {
			err = fmt.Errorf("%s the rate is %d in %s, want %d in some time", when, s.Rate.Admitted, s.Rate.Over, admitted)
		}
		return err
	}
	if err := rate("after direct entries", 0); err != nil {
		return err
	}
	for i := range 3 {
		if err := p.threshold(15 + 10*i); err != nil {
			return err
		}
		if err := p.admits("ten places", users[10*i:10*i+10]...); err != nil {
			return err
		}
		if err := rate("after ten more", 10+10*i); err != nil {
			return err
		}
		h.Advance(10 * time.Second)
	}
	s, err := p.state()
	if err != nil {
		return err
	}
	if s.Rate.Over < 10*time.Second || s.Rate.Admitted != 30 {
		return fmt.Errorf("thirty were admitted in half a minute, and the rate is %+v", s.Rate)
	}
	h.Advance(2 * time.Minute)
	return rate("two minutes later", 0)
}

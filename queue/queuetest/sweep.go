package queuetest

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue/driver"
)

func sweepCases() []testCase {
	clock := []conformance.Need{NeedClock}
	return []testCase{
		{Name: "sweep-removes-the-silent", Needs: clock, Run: sweepRemovesTheSilent},
		{Name: "sweep-in-chunks", Needs: clock, Run: sweepInChunks},
		{Name: "sweep-guard", Needs: clock, Run: sweepGuard},
		{Name: "beats-that-do-nothing", Needs: clock, Run: beatsThatDoNothing},
	}
}

// precision is how much later than Rules.Seen a sweep may remove a user: signs of
// life are kept by the minute.
const precision = 3 * time.Minute

// sweepRemovesTheSilent: each kind of a sign of life keeps the place for several
// times Rules.Seen, and no user is removed before that time is over.
func sweepRemovesTheSilent(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	silent, beating, checking, asking := names("s", 300), names("b", 300), names("c", 300), names("h", 300)
	var users []string
	for i := range silent { // all of them in each block
		users = append(users, silent[i], beating[i], checking[i], asking[i])
	}
	orders, err := p.join(users...)
	if err != nil {
		return err
	}
	s, err := p.state()
	if err != nil {
		return err
	}
	b := driver.Beats{Epoch: s.Epoch}
	for i := range orders {
		if i%4 == 1 {
			b.Orders = append(b.Orders, orders[i])
		}
	}
	alive := func(d time.Duration) error {
		h.Advance(d)
		if _, err := p.visitWith(b, visits(driver.Check, checking...)...); err != nil {
			return err
		}
		_, err := p.visit(visits(driver.Heartbeat, asking...)...)
		return err
	}
	swept := func(when string, want int) error {
		n, err := p.sweep()
		if err == nil && n != want {
			err = fmt.Errorf("%s %d were removed, want %d", when, n, want)
		}
		return err
	}
	third := p.r.Seen / 3
	return steps(
		func() error { return alive(third) },
		func() error { return alive(third) },
		func() error { h.Advance(third - 20*time.Second); return swept("within the grace", 0) },
		func() error { return p.counts("within the grace", 1200, 0, 0) },
		func() error { return alive(20*time.Second + precision) },
		func() error { return swept("after the grace", 300) },
		func() error {
			got, err := p.visit(visits(driver.Heartbeat, users...)...)
			if err != nil {
				return err
			}
			for i, o := range got.Outcomes {
				if want := i%4 != 0; (o.Status == driver.Waiting) != want || want && o.Ahead != i/4*3+i%4-1 {
					return fmt.Errorf("%s, the %d. of 1,200 who came, is answered %+v after a sweep of every fourth", users[i], i+1, o)
				}
			}
			if got.Swept != 300 || got.Waiting != 900 {
				return fmt.Errorf("300 of 1,200 were removed, and the room is %+v", got.State)
			}
			return nil
		},
		func() error { _, err := p.join(silent[0]); return err },
		func() error { return alive(third) },
		func() error { return alive(third) },
		func() error { return alive(third - time.Minute) },
		func() error { return swept("while all are heard of", 0) },
		func() error { h.Advance(p.r.Seen + precision); return swept("when nobody is", 901) },
		func() error { return p.counts("when nobody was heard of", 0, 0, 0) },
	)
}

func sweepInChunks(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", 2600)
	if _, err := p.join(users...); err != nil {
		return err
	}
	h.Advance(p.r.Seen + precision)
	if _, err := p.join("new"); err != nil {
		return err
	}
	from, calls := int64(0), 0
	for removed := 0; ; {
		s, err := p.store.Sweep(ctx, p.event, p.r, from)
		if err != nil {
			return err
		}
		calls++
		if removed += s.Removed; s.Removed > driver.MaxChunk || s.Waiting != 2601-removed || s.Swept != int64(removed) {
			return fmt.Errorf("call %d of a sweep of 2,600 removes %d after %d, and the room is %+v", calls, s.Removed, removed-s.Removed, s.State)
		}
		if s.Done {
			if removed != 2600 || calls < 6 || calls > 60 {
				return fmt.Errorf("a sweep of 2,600 removed %d in %d calls", removed, calls)
			}
			break
		}
		from = s.Next
	}
	o, err := p.stands("after the sweep", "new", driver.Waiting)
	if err == nil && o.Ahead != 0 {
		err = fmt.Errorf("alone in the line with %d ahead", o.Ahead)
	}
	return err
}

// sweepGuard: one of several instances sweeps; the others are told at once that it
// was done.
func sweepGuard(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	p.r.SweepEvery = time.Hour // none of the time that passes by itself matters
	swept := func(when string, want int) error {
		n, err := p.sweep()
		if err == nil && n != want {
			err = fmt.Errorf("%s a sweep removed %d, want %d", when, n, want)
		}
		return err
	}
	return steps(
		func() error { _, err := p.join("a"); return err },
		func() error { return swept("at first", 0) },
		func() error { h.Advance(p.r.Seen + precision); p.store = h.Peers[len(h.Peers)-1]; return nil },
		func() error { return swept("too soon", 0) },
		func() error { return p.counts("after a sweep that was too soon", 1, 0, 0) },
		func() error { h.Advance(p.r.SweepEvery - p.r.Seen - precision + time.Second); return nil },
		func() error { return swept("in time", 1) },
	)
}

// beatsThatDoNothing: of another epoch, and of orders that do not wait.
func beatsThatDoNothing(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", 3)
	orders, err := p.join(users...)
	if err != nil {
		return err
	}
	s, err := p.state()
	if err != nil {
		return err
	}
	for range 4 {
		h.Advance(p.r.Seen / 3)
		odd := []int64{orders[0], 1, orders[2] + 1, orders[2] + 5000, 1 << 53}
		if _, err := p.visitWith(driver.Beats{Epoch: s.Epoch + 1, Orders: orders}); err != nil {
			return err
		}
		if _, err := p.visitWith(driver.Beats{Orders: orders}); err != nil {
			return err
		}
		if _, err := p.visitWith(driver.Beats{Epoch: s.Epoch, Orders: odd}); err != nil {
			return err
		}
	}
	if n, err := p.sweep(); err != nil || n != 2 {
		return fmt.Errorf("one of three was heard of, and %d were removed: %v", n, err)
	}
	if err := p.counts("after that", 1, 0, 0); err != nil {
		return err
	}
	_, err = p.stands("after its beats", users[0], driver.Waiting)
	return err
}

package queuetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/queue/driver"
)

// returnersTakeEveryFourthTurn, in the order of their places and however many turns come
// at a time; and all when the line is empty.
func returnersTakeEveryFourthTurn(ctx context.Context, h Harness) error {
	for _, batch := range []int{1, 3, 20} {
		p := newPlayer(ctx, h, keeping())
		users := names("r", 6)
		orders, err := p.join(users...)
		if err != nil {
			return err
		}
		tickets, err := p.silent(users, orders)
		if err != nil {
			return err
		}
		line := names("l", 16)
		if _, err := p.join(line...); err != nil {
			return err
		}
		for _, i := range []int{5, 2, 0, 4, 1, 3} {
			if _, err := p.one(tickets[i]); err != nil {
				return err
			}
		}
		p.r.Batch = batch
		if err := p.threshold(len(line) + len(users)); err != nil {
			return err
		}
		var got []string
		for range (len(line)+len(users))/batch + 2 {
			h.Advance(p.r.Tick)
			a, err := p.admit()
			if err != nil {
				return err
			}
			for _, one := range a.Admitted {
				got = append(got, one.User)
			}
		}
		var want []string
		for i, user := range line {
			if want = append(want, user); i%3 == 2 {
				want = append(want, users[i/3])
			}
		}
		want = append(want, users[5])
		if !slices.Equal(got, want) {
			return fmt.Errorf("in batches of %d the turns were those of %v, want %v", batch, got, want)
		}
	}
	return nil
}

// returnersRaiseNoPosition of the line: not by coming back, not by their turns, and not by
// taking a place.
func returnersRaiseNoPosition(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, keeping())
	users := names("r", 6)
	orders, err := p.join(users...)
	if err != nil {
		return err
	}
	tickets, err := p.silent(users, orders)
	if err != nil {
		return err
	}
	shown := positions{p: p, users: names("l", 20)}
	if _, err := p.join(shown.users...); err != nil {
		return err
	}
	for i, ticket := range tickets {
		if err := steps(
			func() error { _, err := p.one(ticket); return err },
			func() error { return shown.look("after a return") },
			func() error { return p.threshold(3 * (i + 1)) },
			func() error { _, err := p.admit(); return err },
			func() error { return shown.look("after some turns") },
			func() error { _, err := p.visit(visits(driver.Heartbeat, users...)...); return err },
			func() error { return shown.look("after polls of the returners") },
		); err != nil {
			return err
		}
	}
	return nil
}

// positions are those that the users of a line were shown.
type positions struct {
	p     *player
	users []string
	ahead map[string]int
}

// look polls for all users that are not inside, before those with a turn can take a place
// and after it.
func (s *positions) look(when string) error {
	return steps(
		func() error { return s.p.pause(true) },
		func() error { return s.poll(when) },
		func() error { return s.p.pause(false) },
		func() error { _, err := s.p.visit(visits(driver.Heartbeat, s.users...)...); return err },
		func() error { return s.poll(when) },
	)
}

// poll expects that no position has risen, and that a snapshot tells the same ones as the
// store.
func (s *positions) poll(when string) error {
	if s.ahead == nil {
		s.ahead = map[string]int{}
	}
	got, err := s.p.visit(visits(driver.Heartbeat, s.users...)...)
	if err != nil {
		return err
	}
	before := got.Entitled
	for i, o := range got.Outcomes {
		user := s.users[i]
		if o.Status != driver.Waiting {
			continue
		}
		if was, known := s.ahead[user]; known && o.Ahead > was {
			return fmt.Errorf("%s %d are ahead of %s, and %d were", when, o.Ahead, user, was)
		}
		if s.ahead[user] = o.Ahead; o.Turn {
			continue
		}
		if o.Ahead != before {
			return fmt.Errorf("%s %d are ahead of %s, and %d by the bits of the line and the room %+v", when, o.Ahead, user, before, got.State)
		}
		before++
	}
	return nil
}

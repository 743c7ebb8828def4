package queuetest

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/queue"
)

func turnCases() []Case {
	clock := []Need{NeedClock}
	return []Case{
		{Name: "reserved-takes-a-place", Run: reservedTakesAPlace},
		{Name: "first-seen-starts-the-time", Needs: clock, Run: firstSeenStartsTheTime},
		{Name: "no-show-gives-the-place-back", Needs: clock, Run: noShowGivesThePlaceBack},
		{Name: "missed-turn-comes-back", Needs: clock, Run: missedTurnComesBack},
	}
}

// reservedTakesAPlace: an admitted user before the first poll.
func reservedTakesAPlace(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", 6)
	return steps(
		func() error { _, err := p.join(users...); return err },
		func() error { return p.threshold(4) },
		func() error { return p.admits("four places", users[:4]...) },
		func() error { return p.counts("after four were admitted", 2, 4, 4) },
		func() error { return p.admits("four reserved places") },
		func() error {
			_, err := p.visit(visits(queue.Leave, users[4:]...)...)
			return err
		},
		func() error { _, err := p.join("late"); return err }, // the line is empty, and all places are reserved
		func() error {
			_, err := p.visit(append(visits(queue.Check, users[0]), queue.Visit{Kind: queue.Heartbeat, User: users[1]})...)
			return err
		},
		func() error { return p.counts("after two of them were seen", 1, 4, 2) },
		func() error { return p.admits("a full room") },
	)
}

func firstSeenStartsTheTime(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", 3)
	orders, err := p.join(users...)
	if err != nil {
		return err
	}
	if err := p.threshold(3); err != nil {
		return err
	}
	if err := p.admits("three places", users...); err != nil {
		return err
	}
	h.Advance(100 * time.Second)
	all := []queue.Visit{
		{Kind: queue.Check, User: users[0]}, {Kind: queue.Heartbeat, User: users[1]}, {Kind: queue.Verify, User: users[2], Entry: orders[2]},
	}
	for _, first := range []bool{true, false} {
		got, err := p.visit(all...)
		if err != nil {
			return err
		}
		for i, o := range got.Outcomes {
			if o.Status != queue.Active || o.New != first || o.Entered || o.Order != orders[i] || first && o.Left != p.r.Active || o.Left > p.r.Active {
				return fmt.Errorf("kind %d of who was admitted by order %d is answered %+v; first seen: %t", all[i].Kind, orders[i], o, first)
			}
		}
		if got.Active != 3 || got.Reserved != 0 {
			return fmt.Errorf("three are inside, and the room is %+v", got.State)
		}
	}
	h.Advance(p.r.Active - 60*time.Second)
	for _, user := range users {
		if _, err := p.stands("a minute before the end", user, queue.Active); err != nil {
			return err
		}
	}
	return nil
}

func noShowGivesThePlaceBack(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", 4)
	if _, err := p.join(users...); err != nil {
		return err
	}
	if err := p.threshold(2); err != nil {
		return err
	}
	if err := p.admits("two places", users[:2]...); err != nil {
		return err
	}
	h.Advance(p.r.NoShow - 60*time.Second)
	if err := p.admits("while the places are kept"); err != nil {
		return err
	}
	if _, err := p.stands("in time", users[1], queue.Active); err != nil {
		return err
	}
	h.Advance(61 * time.Second)
	return steps(
		func() error { _, err := p.stands("too late", users[0], queue.None); return err },
		func() error { return p.admits("a place that nobody took", users[2]) },
		func() error { return p.counts("after that", 1, 2, 1) },
		func() error {
			s, err := p.state()
			if err == nil && (s.NoShows != 1 || s.Expired != 0) {
				err = fmt.Errorf("one did not show up, and the room is %+v", s)
			}
			return err
		},
	)
}

// missedTurnComesBack: within Seen of the admission to the old order; later, or
// after leaving, to the end.
func missedTurnComesBack(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", 5)
	orders, err := p.join(users...)
	if err != nil {
		return err
	}
	if err := p.threshold(4); err != nil {
		return err
	}
	if err := p.admits("four places", users[:4]...); err != nil {
		return err
	}
	if err := p.threshold(0); err != nil {
		return err
	}
	h.Advance(p.r.NoShow + time.Second)
	back := func(user string, order int64, ahead int) error {
		o, err := p.one(queue.Visit{Kind: queue.Check, User: user})
		if want := (queue.Outcome{Status: queue.Waiting, Order: order, Ahead: ahead, New: true}); err == nil && o != want {
			err = fmt.Errorf("%s missed the turn of order %d, comes back, and is answered %+v, want %+v", user, order, o, want)
		}
		return err
	}
	if err := steps(
		func() error { return p.admits("a closed room") },
		func() error { _, err := p.stands("heartbeat after the turn", users[1], queue.None); return err },
		func() error {
			o, err := p.one(queue.Visit{Kind: queue.Leave, User: users[3]})
			if err == nil && o != (queue.Outcome{}) {
				err = fmt.Errorf("%s missed the turn, leaves, and is answered %+v", users[3], o)
			}
			return err
		},
		func() error { _, err := p.join(users[3]); return err },
		func() error { return back(users[1], orders[1], 0) },
		func() error { return back(users[0], orders[0], 0) },
		func() error { return p.threshold(1) },
		func() error { return p.admits("a place", users[0]) },
		func() error { _, err := p.stands("the second time", users[0], queue.Active); return err },
		func() error { return p.threshold(0) },
	); err != nil {
		return err
	}
	h.Advance(p.r.Seen - p.r.NoShow + 10*time.Second)
	_, err = p.join(users[2])
	return err
}

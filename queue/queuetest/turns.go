package queuetest

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue/driver"
)

func turnCases() []testCase {
	clock := []conformance.Need{NeedClock}
	return []testCase{
		{Name: "turn-takes-a-place", Run: turnTakesAPlace},
		{Name: "first-poll-starts-the-time", Needs: clock, Run: firstPollStartsTheTime},
		{Name: "silent-turns-hold-up-nobody", Needs: clock, Run: silentTurnsHoldUpNobody},
		{Name: "no-show-ends-the-turn", Needs: clock, Run: noShowEndsTheTurn},
		{Name: "missed-turn-comes-back", Needs: clock, Run: missedTurnComesBack},
	}
}

// waits expects that a user whose turn has come waits for a place.
func (p *player) waits(kind driver.Kind, user string, order int64, ahead int) func() error {
	return func() error {
		o, err := p.one(driver.Visit{Kind: kind, User: user})
		if want := (driver.Outcome{Status: driver.Waiting, Order: order, Ahead: ahead, Turn: true}); err == nil && o != want {
			err = fmt.Errorf("kind %d of %s, whose turn has come, is answered %+v, want %+v", kind, user, o, want)
		}
		return err
	}
}

// takes expects that a user whose turn has come takes a place.
func (p *player) takes(kind driver.Kind, user string, order int64) func() error {
	return func() error {
		o, err := p.one(driver.Visit{Kind: kind, User: user})
		if want := (driver.Outcome{Status: driver.Active, Order: order, Left: p.r.Active, New: true, Entered: true}); err == nil && o != want {
			err = fmt.Errorf("kind %d of %s, whose turn has come, is answered %+v, want %+v", kind, user, o, want)
		}
		return err
	}
}

// turnTakesAPlace: by a poll, and a free place is that of a taker until then.
func turnTakesAPlace(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", 8)
	orders, err := p.join(users...)
	if err != nil {
		return err
	}
	leave := func(users ...string) func() error {
		return func() error { _, err := p.visit(visits(driver.Leave, users...)...); return err }
	}
	return steps(
		func() error { return p.threshold(4) },
		func() error { return p.calls("four places", users[:4]...) },
		func() error { return p.counts("after four turns", 8, 0, 4) },
		func() error { return p.calls("four takers of four places") },
		func() error { _, err := p.stands("behind four", users[4], driver.Waiting); return err },
		leave(users[4:]...),
		func() error { _, err := p.join("late"); return err }, // all places have a taker
		p.takes(driver.Check, users[0], orders[0]),
		p.takes(driver.Heartbeat, users[1], orders[1]),
		func() error { return p.counts("after two of them polled", 3, 2, 2) },
		func() error { return p.threshold(2) },
		p.waits(driver.Done, users[3], orders[3], 1),
		p.waits(driver.Check, users[3], orders[3], 1),
		p.waits(driver.Heartbeat, users[2], orders[2], 0),
		func() error { return p.calls("a full room") },
		leave(users[2]),
		func() error { return p.counts("after one of them left", 2, 2, 1) },
		func() error { return p.threshold(3) },
		func() error { return p.pause(true) },
		p.waits(driver.Check, users[3], orders[3], 0),
		func() error { return p.pause(false) },
		p.takes(driver.Check, users[3], orders[3]),
		func() error { return p.calls("a full room") },
		func() error { return p.counts("a full room", 1, 3, 0) },
	)
}

func firstPollStartsTheTime(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", 2)
	orders, err := p.join(users...)
	if err != nil {
		return err
	}
	if err := steps(
		func() error { return p.threshold(2) },
		func() error { return p.calls("two places", users...) },
		func() error { h.Advance(100 * time.Second); return nil },
		p.takes(driver.Check, users[0], orders[0]),
		p.takes(driver.Heartbeat, users[1], orders[1]),
	); err != nil {
		return err
	}
	h.Advance(p.r.Active - 60*time.Second)
	for i, user := range users {
		o, err := p.stands("a minute before the end", user, driver.Active)
		if err == nil && (o.New || o.Entered || o.Order != orders[i]) {
			err = fmt.Errorf("%s is inside by order %d, and is answered %+v", user, orders[i], o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// silentTurnsHoldUpNobody: the front moves on over users who are silent at their turn,
// and a user that polls in time goes before all users behind.
func silentTurnsHoldUpNobody(ctx context.Context, h Harness) error {
	r := limited(0)
	r.Turn = 5 * time.Second
	p := newPlayer(ctx, h, r)
	users := names("u", 12)
	orders, err := p.join(users...)
	if err != nil {
		return err
	}
	done := func(user string) func() error {
		return func() error { _, err := p.one(driver.Visit{Kind: driver.Done, User: user}); return err }
	}
	return steps(
		func() error { return p.threshold(2) },
		func() error { return p.calls("two places", users[:2]...) },
		func() error { h.Advance(4 * time.Second); return nil },
		func() error { return p.calls("while they may come") },
		func() error { h.Advance(2 * time.Second); return nil },
		func() error {
			s, err := p.state()
			if err == nil && (s.Entitled != 2 || s.Silent != 2) {
				err = fmt.Errorf("two are silent at their turn, and the room is %+v", s)
			}
			return err
		},
		func() error { return p.calls("two silent users", users[2:6]...) },
		p.takes(driver.Check, users[3], orders[3]), // and the other place is that of users[2]
		p.waits(driver.Check, users[5], orders[5], 4),
		func() error { h.Advance(6 * time.Second); return nil },
		func() error { return p.calls("a place with a taker") },
		p.takes(driver.Check, users[0], orders[0]), // silent until now
		p.waits(driver.Check, users[1], orders[1], 0),
		p.waits(driver.Check, users[5], orders[5], 3),
		done(users[3]),
		p.waits(driver.Check, users[5], orders[5], 3), // the place is that of users[1]
		func() error { _, err := p.join("newcomer"); return err },
		p.takes(driver.Heartbeat, users[1], orders[1]),
		done(users[0]),
		p.takes(driver.Check, users[5], orders[5]),
		func() error { return p.counts("at the end", 9, 2, 2) },
	)
}

func noShowEndsTheTurn(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", 4)
	orders, err := p.join(users...)
	if err != nil {
		return err
	}
	return steps(
		func() error { return p.threshold(2) },
		func() error { return p.calls("two places", users[:2]...) },
		func() error { return p.threshold(0) },
		func() error { h.Advance(p.r.NoShow - 60*time.Second); return nil },
		func() error { return p.calls("a closed room") },
		p.waits(driver.Heartbeat, users[1], orders[1], 1),
		func() error { h.Advance(61 * time.Second); return nil },
		func() error { _, err := p.stands("too late", users[0], driver.None); return err },
		p.waits(driver.Heartbeat, users[1], orders[1], 0),
		func() error { return p.threshold(2) },
		func() error { return p.calls("a place that nobody took", users[2]) },
		func() error { return p.counts("after that", 3, 0, 2) },
		func() error {
			s, err := p.state()
			if err == nil && (s.NoShows != 1 || s.Expired != 0) {
				err = fmt.Errorf("one did not show up, and the room is %+v", s)
			}
			return err
		},
	)
}

// missedTurnComesBack: within Seen of the turn among the returners, also without a
// ticket; later, or after leaving, to the end.
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
	if err := p.calls("four places", users[:4]...); err != nil {
		return err
	}
	if err := p.threshold(0); err != nil {
		return err
	}
	h.Advance(p.r.NoShow + time.Second)
	back := func(user string, order int64, ahead int) error {
		o, err := p.one(driver.Visit{Kind: driver.Check, User: user})
		if want := (driver.Outcome{Status: driver.Waiting, Order: order, Ahead: ahead, New: true, Returner: true}); err == nil && o != want {
			err = fmt.Errorf("%s missed the turn of order %d, comes back, and is answered %+v, want %+v", user, order, o, want)
		}
		return err
	}
	if err := steps(
		func() error { return p.calls("a closed room") },
		func() error { _, err := p.stands("heartbeat after the turn", users[1], driver.None); return err },
		func() error {
			o, err := p.one(driver.Visit{Kind: driver.Leave, User: users[3]})
			if err == nil && o != (driver.Outcome{}) {
				err = fmt.Errorf("%s missed the turn, leaves, and is answered %+v", users[3], o)
			}
			return err
		},
		func() error { _, err := p.join(users[3]); return err },
		func() error { return back(users[1], orders[1], 0) },
		func() error { return back(users[0], orders[0], 0) },
		func() error { return p.threshold(1) },
		func() error { return p.admits("a place", users[4]) },
		func() error { return p.threshold(0) },
	); err != nil {
		return err
	}
	h.Advance(p.r.Seen - p.r.NoShow + 10*time.Second)
	_, err = p.join(users[2])
	return err
}

package queuetest

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/queue/driver"
)

func gateCases() []testCase {
	return []testCase{
		{Name: "gate-lets-positions-in", Run: gateLetsPositionsIn},
		{Name: "position-counts-once", Run: positionCountsOnce},
		{Name: "a-shared-position-moves-nobody", Run: aSharedPositionMovesNobody},
		{Name: "gate-switched-off", Run: gateSwitchedOff},
		{Name: "gate-switched-twice", Run: gateSwitchedTwice},
	}
}

// at checks a user with a position.
func (p *player) at(user string, position int64) (driver.Outcome, error) {
	return p.one(driver.Visit{Kind: driver.Check, User: user, Position: position})
}

// lined lines a user up with a position, and expects so many users ahead.
func (p *player) lined(user string, position int64, ahead int) (int64, error) {
	o, err := p.at(user, position)
	if want := (driver.Outcome{Status: driver.Waiting, Order: o.Order, Ahead: ahead, New: true}); err == nil && o != want {
		err = fmt.Errorf("%s comes with position %d, and is answered %+v, want %+v", user, position, o, want)
	}
	return o.Order, err
}

// gateLetsPositionsIn: behind the waiting users, by their positions, in any order
// of their coming; no users without a position.
func gateLetsPositionsIn(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(1))
	if _, err := p.enter("inside"); err != nil {
		return err
	}
	orders, err := p.join("before1", "before2")
	if err != nil {
		return err
	}
	if err := p.gate(true, 7000); err != nil { // given out before, to other users
		return err
	}
	gated := func(user string) error { return p.gated(user, 0) }
	var far, near int64
	if err := steps(
		func() error { return gated("nobody") },
		func() (err error) { far, err = p.lined("far", 9000, 2); return err },
		func() (err error) { near, err = p.lined("near", 7001, 2); return err },
		func() error { _, err := p.lined("middle", 8000, 3); return err },
		func() error { return gated("nobody") },
		func() error { _, err := p.stands("behind the gate", "before2", driver.Waiting); return err },
	); err != nil {
		return err
	}
	if far-near != 1999 || near <= orders[1] {
		return fmt.Errorf("positions 9,000 and 7,001 have orders %d and %d, behind order %d", far, near, orders[1])
	}
	for user, want := range map[string]driver.Status{"before1": driver.Waiting, "inside": driver.Active} { // users in the room need none
		o, err := p.at(user, 0)
		if err != nil {
			return err
		}
		if o.Status != want || o.New {
			return fmt.Errorf("%s checks behind the gate, and is answered %+v", user, o)
		}
	}
	return steps(
		func() error { return p.counts("behind the gate", 5, 1, 0) },
		func() error { return p.threshold(6) },
		func() error { return p.admits("five places", "before1", "before2", "near", "middle", "far") },
		func() error { return p.threshold(7) },
		func() error { return gated("nobody") }, // with a free place and an empty line
		func() error {
			o, err := p.at("late", 7500)
			if want := (driver.Outcome{Status: driver.Active, Order: near + 499, Left: p.r.Active, New: true, Entered: true}); err == nil && o != want {
				err = fmt.Errorf("position 7,500 comes to an empty line, and is answered %+v, want %+v", o, want)
			}
			return err
		},
	)
}

// gated checks a user with a position, who is refused a place in line.
func (p *player) gated(user string, position int64) error {
	o, err := p.at(user, position)
	if err == nil && o != (driver.Outcome{Status: driver.Gated}) {
		err = fmt.Errorf("%s comes with position %d, and is answered %+v, want a refusal", user, position, o)
	}
	return err
}

// positionCountsOnce: another user with it is refused, and so is the same one after
// leaving or going; a user who is there keeps the place. Behind a gate that is off
// they go to the end.
func positionCountsOnce(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	if err := p.gate(true, 0); err != nil {
		return err
	}
	var first int64
	return steps(
		func() (err error) { first, err = p.lined("a", 10, 0); return err },
		func() error { _, err := p.lined("b", 20, 1); return err },
		func() error { return p.gated("copy", 10) },
		func() error {
			o, err := p.at("a", 10)
			if want := (driver.Outcome{Status: driver.Waiting, Order: first}); err == nil && o != want {
				err = fmt.Errorf("the user with position 10 polls with it, and is answered %+v, want %+v", o, want)
			}
			return err
		},
		func() error { _, err := p.one(driver.Visit{Kind: driver.Leave, User: "a"}); return err },
		func() error { return p.gated("a", 10) },
		func() error { return p.gated("another", 20) },
		func() error {
			o, err := p.lined("early", 9, 0)
			if err == nil && o != first-1 {
				err = fmt.Errorf("position 9 has order %d, and position 10 had %d", o, first)
			}
			return err
		},
		func() error { return p.threshold(2) },
		func() error { return p.admits("two places", "early", "b") },
		func() error { return p.gated("another", 20) }, // its user is inside, and nobody waits
		func() error { _, err := p.one(driver.Visit{Kind: driver.Done, User: "b"}); return err },
		func() error { return p.gated("b", 20) },
		func() error { return p.threshold(0) },
		func() error { return p.gate(false, 30) },
		func() error { _, err := p.lined("late", 25, 0); return err },
		func() error { _, err := p.lined("b", 20, 1); return err },
		func() error { _, err := p.lined("copy", 10, 2); return err },
	)
}

// aSharedPositionMovesNobody: 60 users come with one position before 40 others with
// one each, at the places of their positions.
func aSharedPositionMovesNobody(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	if err := p.gate(true, 0); err != nil {
		return err
	}
	first, err := p.lined("first", 1, 0)
	if err != nil {
		return err
	}
	for _, user := range names("sharer", 60) {
		if err := p.gated(user, 1); err != nil {
			return err
		}
	}
	for i, user := range names("u", 40) {
		o, err := p.lined(user, int64(2+i), 1+i)
		if err != nil {
			return err
		}
		if o != first+1+int64(i) {
			return fmt.Errorf("position %d has order %d, and position 1 has %d", 2+i, o, first)
		}
	}
	return p.counts("behind the gate", 41, 0, 0)
}

// gateSwitchedOff: the orders go on above the highest position that was given out,
// and a late position of these gives its order.
func gateSwitchedOff(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	var first, o int64
	return steps(
		func() error { return p.gate(true, 100) },
		func() (err error) { first, err = p.lined("a", 101, 0); return err },
		func() error { return p.gate(false, 5000) },
		func() (err error) { o, err = p.lined("new", 0, 1); return err },
		func() error {
			if o <= first+5000-101 {
				return fmt.Errorf("position 101 has order %d, and who comes after position 5,000 has %d", first, o)
			}
			return nil
		},
		func() (err error) { o, err = p.lined("late", 4000, 1); return err },
		func() error {
			if o != first+4000-101 {
				return fmt.Errorf("position 101 has order %d, and position 4,000 after switching off %d", first, o)
			}
			return nil
		},
		func() error { _, err := p.lined("again", 4000, 3); return err },
		func() error { _, err := p.lined("never given out", 6000, 4); return err },
		func() error { _, err := p.lined("newer", 0, 5); return err },
		func() error { return p.threshold(6) },
		func() error { return p.admits("six places", "a", "late", "new", "again", "never given out", "newer") },
	)
}

// gateSwitchedTwice: switching to the present state changes nothing.
func gateSwitchedTwice(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	var first int64
	return steps(
		func() error { return p.gate(false, 300) }, // it is off
		func() error { _, err := p.join("before"); return err },
		func() error { return p.gate(true, 0) },
		func() (err error) { first, err = p.lined("a", 50, 1); return err },
		func() error { return p.gate(true, 9000) },
		func() error {
			o, err := p.lined("b", 60, 2)
			if err == nil && o != first+10 {
				err = fmt.Errorf("positions 50 and 60 have orders %d and %d", first, o)
			}
			return err
		},
		func() error { return p.gate(false, 60) },
		func() error { return p.gate(false, 9000) },
		func() error {
			o, err := p.lined("c", 0, 3)
			if err == nil && o > first+1000 {
				err = fmt.Errorf("position 50 has order %d, and who comes after position 60 has %d", first, o)
			}
			return err
		},
	)
}

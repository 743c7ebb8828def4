package queuetest

import (
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func gateCases() []testCase {
	return []testCase{
		{Name: "gate-lets-positions-in", Run: play(gateLetsPositionsIn)},
		{Name: "position-counts-once", Run: play(positionCountsOnce)},
		{Name: "a-shared-position-moves-nobody", Run: play(aSharedPositionMovesNobody)},
		{Name: "gate-switched-off", Run: play(gateSwitchedOff)},
		{Name: "gate-switched-twice", Run: play(gateSwitchedTwice)},
	}
}

// lined lines a user up with a position, and expects so many users ahead.
func (p *player) lined(user string, position int64, ahead int) int64 {
	return p.linesUp(driver.Visit{Kind: driver.Check, User: user, Position: position}, ahead)
}

// gateLetsPositionsIn: behind the waiting users, by their positions, in any order
// of their coming; no users without a position.
func gateLetsPositionsIn(p *player) {
	p.r = limited(1)
	p.enter("inside")
	orders := p.join("before1", "before2")
	p.gate(true, 7000) // given out before, to other users
	gated := func(user string) { p.gated(user, 0) }
	gated("nobody")
	far := p.lined("far", 9000, 2)
	near := p.lined("near", 7001, 2)
	p.lined("middle", 8000, 3)
	gated("nobody")
	p.stands("behind the gate", "before2", driver.Waiting)
	if far-near != 1999 || near <= orders[1] {
		steps.Fail("positions 9,000 and 7,001 have orders %d and %d, behind order %d", far, near, orders[1])
	}
	for user, want := range map[string]driver.Status{"before1": driver.Waiting, "inside": driver.Active} { // users in the room need none
		o := p.one(driver.Visit{Kind: driver.Check, User: user})
		if o.Status != want || o.New {
			steps.Fail("%s checks behind the gate, and is answered %+v", user, o)
		}
	}
	p.counts("behind the gate", 5, 1, 0)
	p.threshold(6)
	p.admits("five places", "before1", "before2", "near", "middle", "far")
	p.threshold(7)
	gated("nobody") // with a free place and an empty line
	late := driver.Visit{Kind: driver.Check, User: "late", Position: 7500}
	p.answers(late, p.admitted(near+499))
}

// gated checks a user with a position, who is refused a place in line.
func (p *player) gated(user string, position int64) {
	p.answers(driver.Visit{Kind: driver.Check, User: user, Position: position}, driver.Outcome{Status: driver.Gated})
}

// positionCountsOnce: another user with it is refused, and so is the same one after
// leaving or going; a user who is there keeps the place. Behind a gate that is off
// they go to the end.
func positionCountsOnce(p *player) {
	p.gate(true, 0)
	first := p.lined("a", 10, 0)
	p.lined("b", 20, 1)
	p.gated("copy", 10)
	p.answers(driver.Visit{Kind: driver.Check, User: "a", Position: 10}, driver.Outcome{Status: driver.Waiting, Order: first})
	p.leave("a")
	p.gated("a", 10)
	p.gated("another", 20)
	if o := p.lined("early", 9, 0); o != first-1 {
		steps.Fail("position 9 has order %d, and position 10 had %d", o, first)
	}
	p.threshold(2)
	p.admits("two places", "early", "b")
	p.gated("another", 20) // its user is inside, and nobody waits
	p.one(driver.Visit{Kind: driver.Done, User: "b"})
	p.gated("b", 20)
	p.threshold(0)
	p.gate(false, 30)
	p.lined("late", 25, 0)
	p.lined("b", 20, 1)
	p.lined("copy", 10, 2)
}

// aSharedPositionMovesNobody: 60 users come with one position before 40 others with
// one each, at the places of their positions.
func aSharedPositionMovesNobody(p *player) {
	p.gate(true, 0)
	first := p.lined("first", 1, 0)
	for _, user := range names("sharer", 60) {
		p.gated(user, 1)
	}
	for i, user := range names("u", 40) {
		o := p.lined(user, int64(2+i), 1+i)
		if o != first+1+int64(i) {
			steps.Fail("position %d has order %d, and position 1 has %d", 2+i, o, first)
		}
	}
	p.counts("behind the gate", 41, 0, 0)
}

// gateSwitchedOff: the orders go on above the highest position that was given out,
// and a late position of these gives its order.
func gateSwitchedOff(p *player) {
	p.gate(true, 100)
	first := p.lined("a", 101, 0)
	p.gate(false, 5000)
	if o := p.lined("new", 0, 1); o <= first+5000-101 {
		steps.Fail("position 101 has order %d, and who comes after position 5,000 has %d", first, o)
	}
	if o := p.lined("late", 4000, 1); o != first+4000-101 {
		steps.Fail("position 101 has order %d, and position 4,000 after switching off %d", first, o)
	}
	p.lined("again", 4000, 3)
	p.lined("never given out", 6000, 4)
	p.lined("newer", 0, 5)
	p.threshold(6)
	p.admits("six places", "a", "late", "new", "again", "never given out", "newer")
}

// gateSwitchedTwice: switching to the present state changes nothing.
func gateSwitchedTwice(p *player) {
	p.gate(false, 300) // it is off
	p.join("before")
	p.gate(true, 0)
	first := p.lined("a", 50, 1)
	p.gate(true, 9000)
	if o := p.lined("b", 60, 2); o != first+10 {
		steps.Fail("positions 50 and 60 have orders %d and %d", first, o)
	}
	p.gate(false, 60)
	p.gate(false, 9000)
	if o := p.lined("c", 0, 3); o > first+1000 {
		steps.Fail("position 50 has order %d, and who comes after position 60 has %d", first, o)
	}
}

package queuetest

import (
	"slices"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/draws"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/draw"
	"github.com/millrace-go/millrace/queue/driver"
)

func drawCases() []testCase {
	needs := []conformance.Need{NeedClock, NeedDraw}
	return []testCase{
		{Name: "closed-until-the-opening", Needs: needs, Run: play(closedUntilTheOpening)},
		{Name: "the-draw-orders-the-line", Needs: needs, Run: play(theDrawOrdersTheLine)},
		{Name: "tickets-between-freeze-and-list", Needs: needs, Run: play(ticketsBetweenFreezeAndList)},
		{Name: "a-draw-keeps-the-lanes", Needs: needs, Run: play(aDrawKeepsTheLanes)},
		{Name: "a-draw-has-one-holder", Needs: needs, Run: play(aDrawHasOneHolder)},
		{Name: "steps-of-a-draw-in-order", Needs: needs, Run: play(stepsOfADrawInOrder)},
		{Name: "an-opening-is-fixed-by-the-freeze", Needs: needs, Run: play(anOpeningIsFixedByTheFreeze)},
		{Name: "a-draw-that-was-held", Needs: needs, Run: play(aDrawThatWasHeld)},
	}
}

// opens has the room open after a time, by the settings of this version.
func (p *player) opens(version int64, after time.Duration) (at time.Time) {
	at = p.state().Now.Add(after).Truncate(time.Millisecond)
	p.knows(version, driver.Change{Paused: new(false), Opens: &at})
	return at
}

// draw makes a step on a peer.
func (p *player) draw(peer int, s driver.DrawStep) driver.Drawn {
	s.Holder = uint64(1 + peer) //nolint:gosec // a few peers
	d, err := p.h.Peers[peer%len(p.h.Peers)].(driver.Drawer).Draw(p.ctx, p.event, p.r, s)
	steps.Named(err, "step %d of a draw", s.Kind)
	p.sane("draw", d.State)
	return d
}

// stepped makes a step, and expects the phase after it.
func (p *player) stepped(s driver.DrawStep, held bool, phase driver.Phase) {
	if d := p.draw(0, s); d.Held != held || d.Phase != phase {
		steps.Fail("after step %d the draw is in phase %d, held: %t; want phase %d, held: %t", s.Kind, d.Phase, d.Held, phase, held)
	}
}

func leaf(user string) draw.Leaf { return draws.LeafOf([]byte("a room"), user) }

func leavesOf(users []string) []draw.Leaf {
	leaves := make([]draw.Leaf, len(users))
	for i, user := range users {
		leaves[i] = leaf(user)
	}
	draws.Sort(leaves)
	return leaves
}

func closedUntilTheOpening(p *player) {
	p.r = guarded(10)
	at := p.opens(1, time.Hour)
	early := func(want bool) {
		if s := p.state(); want && !s.Opens.Equal(at) || !want && !s.Opens.IsZero() {
			steps.Fail("the room opens at %s, and says %+v", at, s)
		}
	}
	early(true)
	p.join("a") // the line is empty, and there are places
	p.join("b")
	p.admits("before the opening")
	p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, false, driver.Gathering)
	p.h.Advance(time.Hour - driver.FreezeBefore + time.Second)
	p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, true, driver.Frozen)
	p.h.Advance(driver.FreezeBefore)
	early(true)
	p.admits("before the draw")
	p.opens(2, time.Hour) // too late
	early(true)
	p.knows(3, driver.Change{Paused: new(true)})
	p.drawAll("b", "a")
	early(false)
	p.admits("while it is paused")
	p.knows(4, driver.Change{Paused: new(false)})
	p.admits("after the draw", "b", "a")
	p.enter("c")
	p.h.Advance(driver.Lapse / 2)
	early(false)
}

// drawAll draws a frozen room, with the given order.
func (p *player) drawAll(order ...string) {
	p.reorder(order...)
	p.stepped(driver.DrawStep{Kind: driver.DrawOpen}, true, driver.Opened)
}

// reorder gives the users of a frozen room the given order.
func (p *player) reorder(order ...string) {
	d := p.draw(0, driver.DrawStep{Kind: driver.DrawLook})
	leaves := leavesOf(order)
	root := draws.Root(leaves)
	moves := make([]driver.Admitted, len(order))
	for i, user := range order {
		moves[i] = driver.Admitted{User: user, Order: d.Limit + int64(i+1)}
	}
	for from := 0; from < len(leaves); from += driver.MaxLeaves {
		part := leaves[from:min(len(leaves), from+driver.MaxLeaves)]
		p.stepped(driver.DrawStep{Kind: driver.DrawLeaves, From: int64(from), Leaves: part}, true, driver.Frozen)
	}
	p.stepped(driver.DrawStep{Kind: driver.DrawRoot, Root: root[:], Most: len(leaves)}, true, driver.Rooted)
	p.stepped(driver.DrawStep{Kind: driver.DrawSeed, Seed: root[:], Beacon: []byte("b\x00")}, true, driver.Seeded)
	for part := range slices.Chunk(moves, driver.MaxMoves) {
		p.stepped(driver.DrawStep{Kind: driver.DrawMove, Moves: part}, true, driver.Seeded)
	}
}

func theDrawOrdersTheLine(p *player) {
	p.r = guarded(1_000_000)
	users := names("u", 2*driver.MaxMoves+7)
	p.opens(1, time.Minute)
	p.join(users...)
	p.h.Advance(time.Minute - time.Second)
	p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, true, driver.Frozen)
	late := p.join("late", "later")
	var listed []driver.Admitted
	for from := int64(0); ; from = listed[len(listed)-1].Order {
		d := p.draw(0, driver.DrawStep{Kind: driver.DrawList, From: from, Most: 100})
		if len(d.Users) == 0 {
			break
		}
		listed = append(listed, d.Users...)
	}
	for i, one := range listed {
		if len(listed) != len(users) || one.User != users[i] || i > 0 && one.Order <= listed[i-1].Order {
			steps.Fail("%d are listed, %s as number %d; %d joined in another order", len(listed), one.User, i+1, len(users))
		}
	}
	order := slices.Clone(users)
	random(9).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	gone := order[5]
	var s snapshot
	s.refresh(p) // the next sees the draw as a change
	p.leave(gone)
	p.drawAll(order...)
	d := p.draw(0, driver.DrawStep{Most: driver.MaxLeaves})
	root := draws.Root(d.Leaves)
	if !slices.Equal(d.Leaves, leavesOf(users)) || string(d.Root) != string(root[:]) || string(d.Seed) != string(root[:]) || string(d.Beacon) != "b\x00" || d.Count != len(users) {
		steps.Fail("%d leaves of %d are published, root %x, seed %x, beacon %q", len(d.Leaves), d.Count, d.Root, d.Seed, d.Beacon)
	}
	if some := p.draw(0, driver.DrawStep{From: 3, Most: 2}); !slices.Equal(some.Leaves, d.Leaves[3:5]) {
		steps.Fail("leaves 4 and 5 are %v", some.Leaves)
	}
	order = slices.Delete(order, 5, 6)
	var orders []int64
	for i, user := range append(slices.Clone(order), "late", "later") {
		o := p.stands("after the draw", user, driver.Waiting)
		if o.Ahead != i || i < len(order) && (o.Order <= d.Limit || o.Order >= late[0]) || i >= len(order) && o.Order != late[i-len(order)] {
			steps.Fail("%s is drawn as number %d, before orders %v, and is answered %+v", user, i+1, late, o)
		}
		orders = append(orders, o.Order)
	}
	// The order of a user who has left belongs to the draw.
	got := p.state()
	o := p.one(driver.Visit{Kind: driver.Check, User: "cuckoo", Epoch: got.Epoch, Order: d.Limit + 6, Until: got.Now.Add(time.Hour)})
	if o.Order <= late[1] {
		steps.Fail("a ticket of an order of the draw is answered %+v", o)
	}
	s.shows(p, append(orders, o.Order))
	p.admits("before the opening")
	p.h.Advance(time.Second)
	p.admits("at the opening", append(order, "late", "later", "cuckoo")...)
}

// ticketsBetweenFreezeAndList have their owners take part, as after a loss: they are more
// users than waited at the freeze, and get no order of a user that came after it.
func ticketsBetweenFreezeAndList(p *player) {
	p.r = guarded(10)
	p.opens(1, driver.FreezeBefore)
	first := p.join("a")[0]
	p.visitWith(driver.Beats{Highest: first + 100})
	p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, true, driver.Frozen)
	p.join("0") // before the others by name
	for i, user := range []string{"b", "c"} {
		ticket := p.ticket(user, first+10+int64(i))
		p.answers(ticket, driver.Outcome{Status: driver.Waiting, Order: ticket.Order, Ahead: 1 + i, New: true})
	}
	p.drawAll("c", "b", "a")
	p.h.Advance(driver.FreezeBefore)
	p.leave("a")
	if o := p.stands("after the draw", "0", driver.Waiting); o.Ahead != 2 {
		steps.Fail("one that came late stands behind two, and is answered %+v", o)
	}
	p.calls("at the opening", "c", "b", "0")
}

// aDrawKeepsTheLanes: their members are in them by the orders of the draw, also if others come
// while these are given out. A user that left a lane, and came again without one, is in none.
func aDrawKeepsTheLanes(p *player) {
	p.r = guarded(1000)
	p.r.Batch = 5
	p.r.Lanes = []driver.Lane{{Name: "member", Share: 0.25}, {Name: "invited", Share: 0.25}}
	members := names("m", 64)
	order := append([]string{"a", "b", "c", "d", "left", "i"}, members...)
	p.opens(1, driver.FreezeBefore)
	p.joinLane("invited", "left", "i")
	p.joinLane("member", members...)
	p.leave("left")
	p.join("left", "d", "c", "b", "a")
	p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, true, driver.Frozen)
	p.reorder(order...)
	p.joinLane("member", "late")
	p.stepped(driver.DrawStep{Kind: driver.DrawOpen}, true, driver.Opened)
	p.h.Advance(driver.FreezeBefore)
	p.calls("after the draw", "a", "b", "c", members[0], "i")
}

// frozen is a room with users that has frozen.
func (p *player) frozen(users ...string) {
	p.opens(1, driver.FreezeBefore)
	p.join(users...)
	p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, true, driver.Frozen)
}

func aDrawHasOneHolder(p *player) {
	p.r = guarded(10)
	p.frozen("a", "b")
	leaves := leavesOf([]string{"a", "b"})
	other := func(held bool, kind driver.DrawKind) {
		d := p.draw(1, driver.DrawStep{Kind: kind, Leaves: leaves, Root: make([]byte, draws.Size), Seed: make([]byte, draws.Size), Most: 2})
		if d.Held != held {
			steps.Fail("step %d of another holder is held: %t", kind, d.Held)
		}
		if !held && len(d.Users) > 0 {
			steps.Fail("another holder gets the users listed")
		}
	}
	other(false, driver.DrawFreeze)
	other(false, driver.DrawList)
	other(false, driver.DrawLeaves)
	p.stepped(driver.DrawStep{Kind: driver.DrawLeaves, Leaves: leaves}, true, driver.Frozen)
	other(false, driver.DrawRoot)
	p.h.Advance(2 * time.Second)
	p.stepped(driver.DrawStep{Kind: driver.DrawLeaves, Leaves: leaves}, true, driver.Frozen) // 3 s from here
	p.h.Advance(2 * time.Second)
	other(false, driver.DrawRoot)
	p.h.Advance(2 * time.Second)
	other(true, driver.DrawRoot)
	p.stepped(driver.DrawStep{Kind: driver.DrawSeed, Seed: make([]byte, draws.Size)}, false, driver.Rooted)
	other(true, driver.DrawSeed)
	other(true, driver.DrawMove)
}

func stepsOfADrawInOrder(p *player) {
	p.r = guarded(10)
	p.frozen("a", "b")
	d := p.draw(0, driver.DrawStep{})
	leaves := leavesOf([]string{"a", "b"})
	root := draws.Root(leaves)
	move := driver.DrawStep{Kind: driver.DrawMove, Moves: []driver.Admitted{{User: "b", Order: d.Limit + 1}, {User: "nobody", Order: d.Limit + 2}}}
	again := driver.DrawStep{Kind: driver.DrawMove, Moves: []driver.Admitted{{User: "a", Order: 0}, {User: "b", Order: d.Limit + 2}}}
	seed := driver.DrawStep{Kind: driver.DrawSeed, Seed: root[:]}
	p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, true, driver.Frozen) // no second one
	p.stepped(seed, true, driver.Frozen)
	p.stepped(move, true, driver.Frozen)
	p.stepped(driver.DrawStep{Kind: driver.DrawOpen}, true, driver.Frozen)
	p.stepped(driver.DrawStep{Kind: driver.DrawLeaves, From: 1, Leaves: leaves}, false, driver.Frozen)
	p.stepped(driver.DrawStep{Kind: driver.DrawLeaves, Leaves: leaves[:1]}, true, driver.Frozen)
	p.stepped(driver.DrawStep{Kind: driver.DrawRoot, Root: root[:], Most: 2}, true, driver.Frozen)
	p.stepped(driver.DrawStep{Kind: driver.DrawLeaves, Leaves: leaves}, true, driver.Frozen) // begins anew
	if d := p.draw(0, driver.DrawStep{Most: 2}); len(d.Leaves) > 0 {
		steps.Fail("leaves are published before the root")
	}
	p.stepped(driver.DrawStep{Kind: driver.DrawRoot, Root: root[:], Most: 2}, true, driver.Rooted)
	p.stepped(driver.DrawStep{Kind: driver.DrawLeaves, Leaves: leaves[:1]}, true, driver.Rooted)
	p.stepped(move, true, driver.Rooted)
	p.stepped(seed, true, driver.Seeded)
	p.stepped(move, true, driver.Seeded)
	p.stepped(driver.DrawStep{Kind: driver.DrawOpen}, true, driver.Seeded) // a is left
	p.stepped(again, true, driver.Seeded)                                  // b is done
	p.stepped(driver.DrawStep{Kind: driver.DrawOpen}, true, driver.Opened)
	p.stepped(move, false, driver.Opened)
	p.h.Advance(driver.FreezeBefore)
	p.admits("after the draw", "b", "a")
}

// anOpeningIsFixedByTheFreeze: it can be moved and taken back until then, and a room that
// is cleared begins again.
func anOpeningIsFixedByTheFreeze(p *player) {
	p.r = guarded(10)
	p.opens(1, time.Hour)
	p.knows(2, driver.Change{Paused: new(false), Opens: new(time.Time{})})
	p.enter("early")
	p.opens(3, driver.FreezeBefore)
	p.join("a")
	p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, true, driver.Frozen)
	p.knows(4, driver.Change{Paused: new(false), Opens: new(time.Time{})})
	p.h.Advance(2 * driver.FreezeBefore)
	p.admits("after the freeze")
	p.change(driver.Change{Clear: true})
	p.stepped(driver.DrawStep{}, true, driver.Gathering)
	p.join("b", "c")
	p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, true, driver.Frozen)
	p.drawAll("c", "b")
	p.admits("after the draw", "c", "b")
	p.change(driver.Change{Clear: true})
	p.enter("d")
	p.stepped(driver.DrawStep{Most: 1}, true, driver.Gathering)
}

// aDrawThatWasHeld before a loss is not held again.
func aDrawThatWasHeld(p *player) {
	p.r = guarded(10)
	s := p.state()
	at := s.Now.Add(time.Second)
	p.knows(7, driver.Change{Paused: new(false), Opens: &at, Opened: true})
	p.join("a")
	p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, false, driver.Opened)
	p.h.Advance(2 * time.Second)
	p.admits("after the opening", "a")
}

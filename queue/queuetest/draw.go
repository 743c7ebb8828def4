package queuetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/draws"
	"github.com/millrace-go/millrace/queue/draw"
	"github.com/millrace-go/millrace/queue/driver"
)

func drawCases() []testCase {
	needs := []conformance.Need{NeedClock, NeedDraw}
	return []testCase{
		{Name: "closed-until-the-opening", Needs: needs, Run: closedUntilTheOpening},
		{Name: "the-draw-orders-the-line", Needs: needs, Run: theDrawOrdersTheLine},
		{Name: "a-draw-has-one-holder", Needs: needs, Run: aDrawHasOneHolder},
		{Name: "steps-of-a-draw-in-order", Needs: needs, Run: stepsOfADrawInOrder},
		{Name: "an-opening-is-fixed-by-the-freeze", Needs: needs, Run: anOpeningIsFixedByTheFreeze},
		{Name: "a-draw-that-was-held", Needs: needs, Run: aDrawThatWasHeld},
	}
}

// opens has the room open after a time, by the settings of this version.
func (p *player) opens(version int64, after time.Duration) (at time.Time, err error) {
	s, err := p.state()
	if err != nil {
		return at, err
	}
	at = s.Now.Add(after).Truncate(time.Millisecond)
	return at, p.knows(version, driver.Change{Paused: new(false), Opens: &at})
}

// draw makes a step on a peer.
func (p *player) draw(peer int, s driver.DrawStep) (driver.Drawn, error) {
	s.Holder = uint64(1 + peer) //nolint:gosec // a few peers
	d, err := p.h.Peers[peer%len(p.h.Peers)].(driver.Drawer).Draw(p.ctx, p.event, p.r, s)
	if err != nil {
		return d, fmt.Errorf("step %d of a draw: %w", s.Kind, err)
	}
	return d, p.sane(d.State)
}

// stepped makes a step, and expects the phase after it.
func (p *player) stepped(s driver.DrawStep, held bool, phase driver.Phase) func() error {
	return func() error {
		d, err := p.draw(0, s)
		if err == nil && (d.Held != held || d.Phase != phase) {
			err = fmt.Errorf("after step %d the draw is in phase %d, held: %t; want phase %d, held: %t", s.Kind, d.Phase, d.Held, phase, held)
		}
		return err
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

func closedUntilTheOpening(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, guarded(10))
	at, err := p.opens(1, time.Hour)
	if err != nil {
		return err
	}
	early := func(want bool) error {
		s, err := p.state()
		if err == nil && (want && !s.Opens.Equal(at) || !want && !s.Opens.IsZero()) {
			err = fmt.Errorf("the room opens at %s, and says %+v", at, s)
		}
		return err
	}
	return steps(
		func() error { return early(true) },
		func() error { _, err := p.join("a"); return err }, // the line is empty, and there are places
		func() error { _, err := p.join("b"); return err },
		func() error { return p.admits("before the opening") },
		p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, false, driver.Gathering),
		func() error { h.Advance(time.Hour - driver.FreezeBefore + time.Second); return nil },
		p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, true, driver.Frozen),
		func() error { h.Advance(driver.FreezeBefore); return nil },
		func() error { return early(true) },
		func() error { return p.admits("before the draw") },
		func() error { _, err := p.opens(2, time.Hour); return err }, // too late
		func() error { return early(true) },
		func() error { return p.knows(3, driver.Change{Paused: new(true)}) },
		func() error { return p.drawAll("b", "a") },
		func() error { return early(false) },
		func() error { return p.admits("while it is paused") },
		func() error { return p.knows(4, driver.Change{Paused: new(false)}) },
		func() error { return p.admits("after the draw", "b", "a") },
		func() error { _, err := p.enter("c"); return err },
		func() error { h.Advance(driver.Lapse / 2); return early(false) },
	)
}

// drawAll draws a frozen room, with the given order.
func (p *player) drawAll(order ...string) error {
	d, err := p.draw(0, driver.DrawStep{Kind: driver.DrawLook})
	if err != nil {
		return err
	}
	leaves := leavesOf(order)
	root := draws.Root(leaves)
	moves := make([]driver.Admitted, len(order))
	for i, user := range order {
		moves[i] = driver.Admitted{User: user, Order: d.Limit + int64(i+1)}
	}
	for from := 0; from < len(leaves); from += driver.MaxLeaves {
		part := leaves[from:min(len(leaves), from+driver.MaxLeaves)]
		if err := p.stepped(driver.DrawStep{Kind: driver.DrawLeaves, From: int64(from), Leaves: part}, true, driver.Frozen)(); err != nil {
			return err
		}
	}
	if err := steps(
		p.stepped(driver.DrawStep{Kind: driver.DrawRoot, Root: root[:], Most: len(leaves)}, true, driver.Rooted),
		p.stepped(driver.DrawStep{Kind: driver.DrawSeed, Seed: root[:], Beacon: []byte("b\x00")}, true, driver.Seeded),
	); err != nil {
		return err
	}
	for part := range slices.Chunk(moves, driver.MaxMoves) {
		if err := p.stepped(driver.DrawStep{Kind: driver.DrawMove, Moves: part}, true, driver.Seeded)(); err != nil {
			return err
		}
	}
	return p.stepped(driver.DrawStep{Kind: driver.DrawOpen}, true, driver.Opened)()
}

func theDrawOrdersTheLine(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, guarded(1_000_000))
	users := names("u", 2*driver.MaxMoves+7)
	if _, err := p.opens(1, time.Minute); err != nil {
		return err
	}
	if _, err := p.join(users...); err != nil {
		return err
	}
	h.Advance(time.Minute - time.Second)
	if err := p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, true, driver.Frozen)(); err != nil {
		return err
	}
	late, err := p.join("late", "later")
	if err != nil {
		return err
	}
	var listed []driver.Admitted
	for from := int64(0); ; from = listed[len(listed)-1].Order {
		d, err := p.draw(0, driver.DrawStep{Kind: driver.DrawList, From: from, Most: 100})
		if err != nil {
			return err
		}
		if len(d.Users) == 0 {
			break
		}
		listed = append(listed, d.Users...)
	}
	for i, one := range listed {
		if len(listed) != len(users) || one.User != users[i] || i > 0 && one.Order <= listed[i-1].Order {
			return fmt.Errorf("%d are listed, %s as number %d; %d joined in another order", len(listed), one.User, i+1, len(users))
		}
	}
	order := slices.Clone(users)
	random(9).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	gone := order[5]
	var s snapshot
	if _, err := s.refresh(p); err != nil { // the next sees the draw as a change
		return err
	}
	if err := steps(
		func() error { _, err := p.one(driver.Visit{Kind: driver.Leave, User: gone}); return err },
		func() error { return p.drawAll(order...) },
	); err != nil {
		return err
	}
	d, err := p.draw(0, driver.DrawStep{Most: driver.MaxLeaves})
	if err != nil {
		return err
	}
	root := draws.Root(d.Leaves)
	if !slices.Equal(d.Leaves, leavesOf(users)) || string(d.Root) != string(root[:]) || string(d.Seed) != string(root[:]) || string(d.Beacon) != "b\x00" || d.Count != len(users) {
		return fmt.Errorf("%d leaves of %d are published, root %x, seed %x, beacon %q", len(d.Leaves), d.Count, d.Root, d.Seed, d.Beacon)
	}
	some, err := p.draw(0, driver.DrawStep{From: 3, Most: 2})
	if err != nil || !slices.Equal(some.Leaves, d.Leaves[3:5]) {
		return fmt.Errorf("leaves 4 and 5 are %v: %w", some.Leaves, orNil(err))
	}
	order = slices.Delete(order, 5, 6)
	var orders []int64
	for i, user := range append(slices.Clone(order), "late", "later") {
		o, err := p.stands("after the draw", user, driver.Waiting)
		if err != nil {
			return err
		}
		if o.Ahead != i || i < len(order) && (o.Order <= d.Limit || o.Order >= late[0]) || i >= len(order) && o.Order != late[i-len(order)] {
			return fmt.Errorf("%s is drawn as number %d, before orders %v, and is answered %+v", user, i+1, late, o)
		}
		orders = append(orders, o.Order)
	}
	// The order of a user who has left belongs to the draw.
	got, err := p.state()
	if err != nil {
		return err
	}
	o, err := p.one(driver.Visit{Kind: driver.Check, User: "cuckoo", Epoch: got.Epoch, Order: d.Limit + 6, Until: got.Now.Add(time.Hour)})
	if err != nil || o.Order <= late[1] {
		return fmt.Errorf("a ticket of an order of the draw is answered %+v: %w", o, orNil(err))
	}
	return steps(
		func() error { return s.shows(p, append(orders, o.Order)) },
		func() error { return p.admits("before the opening") },
		func() error { h.Advance(time.Second); return nil },
		func() error { return p.admits("at the opening", append(order, "late", "later", "cuckoo")...) },
	)
}

// frozen is a room with users that has frozen.
func (p *player) frozen(users ...string) error {
	return steps(
		func() error { _, err := p.opens(1, driver.FreezeBefore); return err },
		func() error { _, err := p.join(users...); return err },
		p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, true, driver.Frozen),
	)
}

func aDrawHasOneHolder(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, guarded(10))
	if err := p.frozen("a", "b"); err != nil {
		return err
	}
	leaves := leavesOf([]string{"a", "b"})
	other := func(held bool, kind driver.DrawKind) error {
		d, err := p.draw(1, driver.DrawStep{Kind: kind, Leaves: leaves, Root: make([]byte, draws.Size), Seed: make([]byte, draws.Size), Most: 2})
		if err == nil && d.Held != held {
			err = fmt.Errorf("step %d of another holder is held: %t", kind, d.Held)
		}
		if err == nil && !held && len(d.Users) > 0 {
			err = errors.New("another holder gets the users listed")
		}
		return err
	}
	return steps(
		func() error { return other(false, driver.DrawFreeze) },
		func() error { return other(false, driver.DrawList) },
		func() error { return other(false, driver.DrawLeaves) },
		p.stepped(driver.DrawStep{Kind: driver.DrawLeaves, Leaves: leaves}, true, driver.Frozen),
		func() error { return other(false, driver.DrawRoot) },
		func() error { h.Advance(2 * time.Second); return nil },
		p.stepped(driver.DrawStep{Kind: driver.DrawLeaves, Leaves: leaves}, true, driver.Frozen), // 3 s from here
		func() error { h.Advance(2 * time.Second); return nil },
		func() error { return other(false, driver.DrawRoot) },
		func() error { h.Advance(2 * time.Second); return nil },
		func() error { return other(true, driver.DrawRoot) },
		p.stepped(driver.DrawStep{Kind: driver.DrawSeed, Seed: make([]byte, draws.Size)}, false, driver.Rooted),
		func() error { return other(true, driver.DrawSeed) },
		func() error { return other(true, driver.DrawMove) },
	)
}

func stepsOfADrawInOrder(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, guarded(10))
	if err := p.frozen("a", "b"); err != nil {
		return err
	}
	d, err := p.draw(0, driver.DrawStep{})
	if err != nil {
		return err
	}
	leaves := leavesOf([]string{"a", "b"})
	root := draws.Root(leaves)
	move := driver.DrawStep{Kind: driver.DrawMove, Moves: []driver.Admitted{{User: "b", Order: d.Limit + 1}, {User: "nobody", Order: d.Limit + 2}}}
	again := driver.DrawStep{Kind: driver.DrawMove, Moves: []driver.Admitted{{User: "a", Order: 0}, {User: "b", Order: d.Limit + 2}}}
	seed := driver.DrawStep{Kind: driver.DrawSeed, Seed: root[:]}
	return steps(
		p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, true, driver.Frozen), // no second one
		p.stepped(seed, true, driver.Frozen),
		p.stepped(move, true, driver.Frozen),
		p.stepped(driver.DrawStep{Kind: driver.DrawOpen}, true, driver.Frozen),
		p.stepped(driver.DrawStep{Kind: driver.DrawLeaves, From: 1, Leaves: leaves}, false, driver.Frozen),
		p.stepped(driver.DrawStep{Kind: driver.DrawLeaves, Leaves: leaves[:1]}, true, driver.Frozen),
		p.stepped(driver.DrawStep{Kind: driver.DrawRoot, Root: root[:], Most: 2}, true, driver.Frozen),
		p.stepped(driver.DrawStep{Kind: driver.DrawLeaves, Leaves: leaves}, true, driver.Frozen), // begins anew
		func() error {
			d, err := p.draw(0, driver.DrawStep{Most: 2})
			if err == nil && len(d.Leaves) > 0 {
				err = errors.New("leaves are published before the root")
			}
			return err
		},
		p.stepped(driver.DrawStep{Kind: driver.DrawRoot, Root: root[:], Most: 2}, true, driver.Rooted),
		p.stepped(driver.DrawStep{Kind: driver.DrawLeaves, Leaves: leaves[:1]}, true, driver.Rooted),
		p.stepped(move, true, driver.Rooted),
		p.stepped(seed, true, driver.Seeded),
		p.stepped(move, true, driver.Seeded),
		p.stepped(driver.DrawStep{Kind: driver.DrawOpen}, true, driver.Seeded), // a is left
		p.stepped(again, true, driver.Seeded),                                  // b is done
		p.stepped(driver.DrawStep{Kind: driver.DrawOpen}, true, driver.Opened),
		p.stepped(move, false, driver.Opened),
		func() error { h.Advance(driver.FreezeBefore); return nil },
		func() error { return p.admits("after the draw", "b", "a") },
	)
}

// anOpeningIsFixedByTheFreeze: it can be moved and taken back until then, and a room that
// is cleared begins again.
func anOpeningIsFixedByTheFreeze(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, guarded(10))
	return steps(
		func() error { _, err := p.opens(1, time.Hour); return err },
		func() error { return p.knows(2, driver.Change{Paused: new(false), Opens: new(time.Time{})}) },
		func() error { _, err := p.enter("early"); return err },
		func() error { _, err := p.opens(3, driver.FreezeBefore); return err },
		func() error { _, err := p.join("a"); return err },
		p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, true, driver.Frozen),
		func() error { return p.knows(4, driver.Change{Paused: new(false), Opens: new(time.Time{})}) },
		func() error { h.Advance(2 * driver.FreezeBefore); return p.admits("after the freeze") },
		func() error { _, err := p.change(driver.Change{Clear: true}); return err },
		p.stepped(driver.DrawStep{}, true, driver.Gathering),
		func() error { _, err := p.join("b", "c"); return err },
		p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, true, driver.Frozen),
		func() error { return p.drawAll("c", "b") },
		func() error { return p.admits("after the draw", "c", "b") },
		func() error { _, err := p.change(driver.Change{Clear: true}); return err },
		func() error { _, err := p.enter("d"); return err },
		p.stepped(driver.DrawStep{Most: 1}, true, driver.Gathering),
	)
}

// aDrawThatWasHeld before a loss is not held again.
func aDrawThatWasHeld(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, guarded(10))
	s, err := p.state()
	if err != nil {
		return err
	}
	at := s.Now.Add(time.Second)
	return steps(
		func() error { return p.knows(7, driver.Change{Paused: new(false), Opens: &at, Opened: true}) },
		func() error { _, err := p.join("a"); return err },
		p.stepped(driver.DrawStep{Kind: driver.DrawFreeze}, false, driver.Opened),
		func() error { h.Advance(2 * time.Second); return nil },
		func() error { return p.admits("after the opening", "a") },
	)
}

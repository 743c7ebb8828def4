package queuetest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func lookCases() []testCase {
	return []testCase{
		{Name: "look-is-exact", Run: play(lookIsExact)},
		{Name: "look-in-pages", Run: play(lookInPages)},
		{Name: "look-from-elsewhere", Run: play(lookFromElsewhere)},
		{Name: "look-after-a-long-time", Needs: []conformance.Need{NeedClock}, Run: play(lookAfterALongTime)},
		{Name: "look-at-nothing", Run: play(lookAtNothing)},
	}
}

// lookIsExact: several processes that look now and then see the same as a plain
// slice, with blocks that empty and fill again.
func lookIsExact(p *player) {
	r := random(3)
	who := map[int64]string{}
	var line []int64
	var snapshots [3]snapshot
	users := names("u", 6000)
	for round := range 40 {
		switch n := 100 + r.IntN(400); {
		case round%4 < 2 && len(users) > n:
			orders := p.join(users[:n]...)
			for i, o := range orders {
				who[o] = users[i]
			}
			line, users = append(line, orders...), users[n:]
		case round%4 == 2:
			state := p.state()
			p.threshold(state.Active + state.Entitled + 2*n)
			a := p.admit()
			if len(a.Admitted) != min(2*n, len(line)) {
				steps.Fail("%d of %d were admitted to %d places", len(a.Admitted), len(line), 2*n)
			}
			line = line[len(a.Admitted):]
			p.threshold(0)
		default:
			var leave []driver.Visit
			line = slices.DeleteFunc(line, func(o int64) bool {
				if r.IntN(20) > 0 {
					return false
				}
				leave = append(leave, driver.Visit{Kind: driver.Leave, User: who[o]})
				return true
			})
			p.visit(leave...)
		}
		for i := range snapshots {
			p.store = p.h.Peers[i%len(p.h.Peers)]
			if round%(1+3*i) == 0 {
				steps.Within(fmt.Sprintf("round %d, process %d", round, i), func() { snapshots[i].shows(p, line) })
			}
		}
	}
	s := &snapshots[0]
	version := s.version
	s.shows(p, line)
	if s.full != 0 || s.version != version {
		steps.Fail("nothing happened, and version %d became %d; full: %d", version, s.version, s.full)
	}
	v := steps.Get(p.store.Look(p.ctx, p.event, p.r, s.epoch, s.version))
	if len(v.Blocks) > 0 || v.Full || v.More {
		steps.Fail("nothing happened, and a look tells %d blocks, full: %t, more: %t", len(v.Blocks), v.Full, v.More)
	}
}

// scattered lines users up in a block each, by positions of a gate, and returns
// their orders.
func scattered(p *player, users []string) []int64 {
	p.gate(true, 0)
	all := checks(users...)
	for i := range all {
		all[i].Position = int64(1 + i*driver.BlockSize)
	}
	got := p.visit(all...)
	orders := make([]int64, len(users))
	for i, o := range got.Outcomes {
		if orders[i] = o.Order; o.Status != driver.Waiting || o.Ahead != i || i > 0 && orders[i] != orders[i-1]+driver.BlockSize {
			steps.Fail("position %d is answered %+v", all[i].Position, o)
		}
	}
	return orders
}

// lookInPages: more blocks than one answer holds, while they change.
func lookInPages(p *player) {
	users := names("u", 2*driver.MaxBlocks+90)
	orders := scattered(p, users)
	var s, other snapshot
	s.shows(p, orders)
	if s.looks < 3 || s.full != 1 {
		steps.Fail("%d blocks came in %d answers, %d of them full", len(users), s.looks, s.full)
	}

	// Changes between two answers are in one of them.
	v := steps.Get(p.store.Look(p.ctx, p.event, p.r, 0, 0))
	other.apply(v)
	if !v.More || !v.Full || len(v.Blocks) == 0 {
		steps.Fail("the first of %d blocks: %d, full: %t, more: %t", len(users), len(v.Blocks), v.Full, v.More)
	}
	var leave []driver.Visit
	var stay []int64
	for i, user := range users {
		if i%3 == 0 {
			leave = append(leave, driver.Visit{Kind: driver.Leave, User: user})
		} else {
			stay = append(stay, orders[i])
		}
	}
	p.visit(leave...)
	for _, one := range []*snapshot{&other, &s} {
		one.shows(p, stay)
		if one.full != 0 {
			steps.Fail("a snapshot of the same epoch was answered in full")
		}
	}
	new(snapshot).shows(p, stay)
}

// lookFromElsewhere: an epoch or version that never existed gets all blocks.
func lookFromElsewhere(p *player) {
	orders := p.join(names("u", 20)...)
	var s snapshot
	s.shows(p, orders)
	for _, from := range []snapshot{
		{epoch: s.epoch}, {epoch: s.epoch + 1, version: s.version}, {version: s.version}, {epoch: s.epoch, version: s.version + 1000},
	} {
		v := steps.Get(p.store.Look(p.ctx, p.event, p.r, from.epoch, from.version))
		if !v.Full || v.More || v.Version != s.version || v.Epoch != s.epoch || len(v.Blocks) != len(s.blocks) {
			steps.Fail("the room is at version %d of epoch %d, and version %d of epoch %d is answered with %d blocks of version %d, full: %t, more: %t",
				s.version, s.epoch, from.version, from.epoch, len(v.Blocks), v.Version, v.Full, v.More)
		}
	}
}

// lookAfterALongTime: a process comes back to a room that has forgotten many of its
// changes, and pages through the line.
func lookAfterALongTime(p *player) {
	p.r.Seen = 1000 * time.Hour
	users := names("u", 2*driver.MaxBlocks+90)
	orders := scattered(p, users)
	var all snapshot
	all.shows(p, orders)
	for _, gone := range []int{40, len(users) - 45, len(users) - 20} {
		p.leave(users[:gone]...)
		for range 4 {
			p.h.Advance(time.Hour)
			if n := p.sweep(); n != 0 {
				steps.Fail("%d were removed", n)
			}
		}
		old := all // looked before any of them left
		old.blocks = maps.Clone(all.blocks)
		for what, s := range map[string]*snapshot{"before they left": &old, "nothing": new(snapshot)} {
			steps.Within(fmt.Sprintf("%d left; from %s", gone, what), func() { s.shows(p, orders[gone:]) })
		}
	}
}

// lookAtNothing: an event that was never used has an epoch, which stays.
func lookAtNothing(p *player) {
	var s snapshot
	s.shows(p, nil)
	epoch := s.epoch
	for i := range 3 {
		p.store = p.h.Peers[i%len(p.h.Peers)]
		s.shows(p, nil)
	}
	s.shows(p, p.join("a"))
	if s.epoch != epoch {
		steps.Fail("epoch %d of an event that nobody used became %d when somebody came", epoch, s.epoch)
	}
}

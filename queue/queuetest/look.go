package queuetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue/driver"
)

func lookCases() []testCase {
	return []testCase{
		{Name: "look-is-exact", Run: lookIsExact},
		{Name: "look-in-pages", Run: lookInPages},
		{Name: "look-from-elsewhere", Run: lookFromElsewhere},
		{Name: "look-after-a-long-time", Needs: []conformance.Need{NeedClock}, Run: lookAfterALongTime},
		{Name: "look-at-nothing", Run: lookAtNothing},
	}
}

// lookIsExact: several processes that look now and then see the same as a plain
// slice, with blocks that empty and fill again.
func lookIsExact(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	r := random(3)
	who := map[int64]string{}
	var line []int64
	var snapshots [3]snapshot
	users := names("u", 6000)
	for round := range 40 {
		switch n := 100 + r.IntN(400); {
		case round%4 < 2 && len(users) > n:
			orders, err := p.join(users[:n]...)
			if err != nil {
				return err
			}
			for i, o := range orders {
				who[o] = users[i]
			}
			line, users = append(line, orders...), users[n:]
		case round%4 == 2:
			state, err := p.state()
			if err != nil {
				return err
			}
			if err := p.threshold(state.Active + state.Entitled + 2*n); err != nil {
				return err
			}
			a, err := p.admit()
			if err != nil {
				return err
			}
			if len(a.Admitted) != min(2*n, len(line)) {
				return fmt.Errorf("%d of %d were admitted to %d places", len(a.Admitted), len(line), 2*n)
			}
			line = line[len(a.Admitted):]
			if err := p.threshold(0); err != nil {
				return err
			}
		default:
			var leave []driver.Visit
			line = slices.DeleteFunc(line, func(o int64) bool {
				if r.IntN(20) > 0 {
					return false
				}
				leave = append(leave, driver.Visit{Kind: driver.Leave, User: who[o]})
				return true
			})
			if _, err := p.visit(leave...); err != nil {
				return err
			}
		}
		for i := range snapshots {
			p.store = h.Peers[i%len(h.Peers)]
			if round%(1+3*i) == 0 {
				if err := snapshots[i].shows(p, line); err != nil {
					return fmt.Errorf("round %d, process %d: %w", round, i, err)
				}
			}
		}
	}
	s := &snapshots[0]
	version := s.version
	if err := s.shows(p, line); err != nil {
		return err
	}
	if s.full != 0 || s.version != version {
		return fmt.Errorf("nothing happened, and version %d became %d; full: %d", version, s.version, s.full)
	}
	v, err := p.store.Look(ctx, p.event, p.r, s.epoch, s.version)
	if err == nil && (len(v.Blocks) > 0 || v.Full || v.More) {
		err = fmt.Errorf("nothing happened, and a look tells %d blocks, full: %t, more: %t", len(v.Blocks), v.Full, v.More)
	}
	return err
}

// scattered lines users up in a block each, by positions of a gate, and returns
// their orders.
func scattered(p *player, users []string) ([]int64, error) {
	if err := p.gate(true, 0); err != nil {
		return nil, err
	}
	all := checks(users...)
	for i := range all {
		all[i].Position = int64(1 + i*driver.BlockSize)
	}
	got, err := p.visit(all...)
	if err != nil {
		return nil, err
	}
	orders := make([]int64, len(users))
	for i, o := range got.Outcomes {
		if orders[i] = o.Order; o.Status != driver.Waiting || o.Ahead != i || i > 0 && orders[i] != orders[i-1]+driver.BlockSize {
			return nil, fmt.Errorf("position %d is answered %+v", all[i].Position, o)
		}
	}
	return orders, nil
}

// lookInPages: more blocks than one answer holds, while they change.
func lookInPages(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	users := names("u", 2*driver.MaxBlocks+90)
	orders, err := scattered(p, users)
	if err != nil {
		return err
	}
	var s, other snapshot
	if err := s.shows(p, orders); err != nil {
		return err
	}
	if s.looks < 3 || s.full != 1 {
		return fmt.Errorf("%d blocks came in %d answers, %d of them full", len(users), s.looks, s.full)
	}

	// Changes between two answers are in one of them.
	v, err := p.store.Look(ctx, p.event, p.r, 0, 0)
	if err != nil {
		return err
	}
	if err := other.apply(v); err != nil {
		return err
	}
	if !v.More || !v.Full || len(v.Blocks) == 0 {
		return fmt.Errorf("the first of %d blocks: %d, full: %t, more: %t", len(users), len(v.Blocks), v.Full, v.More)
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
	if _, err := p.visit(leave...); err != nil {
		return err
	}
	for _, one := range []*snapshot{&other, &s} {
		if err := one.shows(p, stay); err != nil {
			return err
		}
		if one.full != 0 {
			return fmt.Errorf("a snapshot of the same epoch was answered in full")
		}
	}
	return new(snapshot).shows(p, stay)
}

// lookFromElsewhere: an epoch or version that never existed gets all blocks.
func lookFromElsewhere(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	orders, err := p.join(names("u", 20)...)
	if err != nil {
		return err
	}
	var s snapshot
	if err := s.shows(p, orders); err != nil {
		return err
	}
	for _, from := range []snapshot{
		{epoch: s.epoch}, {epoch: s.epoch + 1, version: s.version}, {version: s.version}, {epoch: s.epoch, version: s.version + 1000},
	} {
		v, err := p.store.Look(ctx, p.event, p.r, from.epoch, from.version)
		if err != nil {
			return err
		}
		if !v.Full || v.More || v.Version != s.version || v.Epoch != s.epoch || len(v.Blocks) != len(s.blocks) {
			return fmt.Errorf("the room is at version %d of epoch %d, and version %d of epoch %d is answered with %d blocks of version %d, full: %t, more: %t",
				s.version, s.epoch, from.version, from.epoch, len(v.Blocks), v.Version, v.Full, v.More)
		}
	}
	return nil
}

// lookAfterALongTime: a process comes back to a room that has forgotten many of its
// changes, and pages through the line.
func lookAfterALongTime(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	p.r.Seen = 1000 * time.Hour
	users := names("u", 2*driver.MaxBlocks+90)
	orders, err := scattered(p, users)
	if err != nil {
		return err
	}
	var all snapshot
	if err := all.shows(p, orders); err != nil {
		return err
	}
	for _, gone := range []int{40, len(users) - 45, len(users) - 20} {
		if _, err := p.visit(visits(driver.Leave, users[:gone]...)...); err != nil {
			return err
		}
		for range 4 {
			h.Advance(time.Hour)
			if n, err := p.sweep(); err != nil || n != 0 {
				return fmt.Errorf("%d were removed: %w", n, orNil(err))
			}
		}
		old := all // looked before any of them left
		old.blocks = maps.Clone(all.blocks)
		for what, s := range map[string]*snapshot{"before they left": &old, "nothing": new(snapshot)} {
			if err := s.shows(p, orders[gone:]); err != nil {
				return fmt.Errorf("%d left; from %s: %w", gone, what, err)
			}
		}
	}
	return nil
}

// lookAtNothing: an event that was never used has an epoch, which stays.
func lookAtNothing(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, rules)
	var s snapshot
	if err := s.shows(p, nil); err != nil {
		return err
	}
	epoch := s.epoch
	for i := range 3 {
		p.store = h.Peers[i%len(h.Peers)]
		if err := s.shows(p, nil); err != nil {
			return err
		}
	}
	orders, err := p.join("a")
	if err != nil {
		return err
	}
	if err := s.shows(p, orders); err != nil {
		return err
	}
	if s.epoch != epoch {
		return fmt.Errorf("epoch %d of an event that nobody used became %d when somebody came", epoch, s.epoch)
	}
	return nil
}

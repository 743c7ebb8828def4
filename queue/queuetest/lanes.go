package queuetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue/driver"
)

func laneCases() []testCase {
	clock := []conformance.Need{NeedClock}
	return []testCase{
		{Name: "lanes-take-their-share", Needs: clock, Run: lanesTakeTheirShare},
		{Name: "lanes-raise-no-position", Needs: clock, Run: lanesRaiseNoPosition},
		{Name: "lane-members-stand-in-line", Needs: clock, Run: laneMembersStandInLine},
		{Name: "shares-of-operators-hold", Needs: clock, Run: sharesOfOperatorsHold},
	}
}

func withLanes(lanes ...driver.Lane) driver.Rules {
	r := keeping()
	r.Lanes = lanes
	return r
}

// joinLane lines users up in a lane.
func (p *player) joinLane(lane string, users ...string) error {
	all := checks(users...)
	for i := range all {
		all[i].Lane = lane
	}
	_, err := p.visit(all...)
	return err
}

// turns gives turns for some ticks, and lists whose they were.
func (p *player) turns(ticks int) (got []string, err error) {
	for range ticks {
		p.h.Advance(p.r.Tick)
		before, err := p.state()
		if err != nil {
			return nil, err
		}
		a, err := p.admit()
		if err != nil {
			return nil, err
		}
		laned := 0
		for _, one := range a.Admitted {
			got = append(got, one.User)
			if one.Laned {
				laned++
			}
		}
		if a.Laned != before.Laned+laned {
			return nil, fmt.Errorf("%d of the turns %+v are said to be of lanes, and their number went from %d to %d", laned, a.Admitted, before.Laned, a.Laned)
		}
	}
	return got, nil
}

// lanesTakeTheirShare however many turns come at a time, in the order of arrival; what a
// lane does not use is the line's.
func lanesTakeTheirShare(ctx context.Context, h Harness) error {
	for _, batch := range []int{1, 4, 40} {
		p := newPlayer(ctx, h, withLanes(driver.Lane{Name: "member", Share: 0.3}, driver.Lane{Name: "invited", Share: 0.1}, driver.Lane{Name: "empty", Share: 0.2}))
		p.r.Batch = batch
		line, members, invited := names("l", 80), names("m", 30), names("i", 2)
		if err := steps(
			func() error { _, err := p.join(line...); return err },
			func() error { return p.joinLane("member", members...) },
			func() error { return p.joinLane("invited", invited...) },
			func() error { return p.threshold(1000) },
		); err != nil {
			return err
		}
		got, err := p.turns(40 / batch)
		if err != nil {
			return err
		}
		var of [3][]string
		for i, user := range got {
			k := slices.Index([]byte("lmi"), user[0])
			of[k] = append(of[k], user)
			if most := 0.3*float64(i+1) + 1; float64(len(of[1])) > most {
				return fmt.Errorf("in batches of %d %d of %d turns were those of a lane with a share of 0.3", batch, len(of[1]), i+1)
			}
		}
		if len(got) != 40 || len(of[1]) < 11 || len(of[2]) != 2 {
			return fmt.Errorf("in batches of %d, of %d turns %d were those of a lane with a share of 0.3, and %d those of two users with a share of 0.1", batch, len(got), len(of[1]), len(of[2]))
		}
		for i, users := range [][]string{line, members, invited} {
			if !slices.Equal(of[i], users[:len(of[i])]) {
				return fmt.Errorf("in batches of %d the turns were those of %v, in another order than the users came", batch, got)
			}
		}
	}
	return nil
}

// lanesRaiseNoPosition of the users whom the lane passes.
func lanesRaiseNoPosition(ctx context.Context, h Harness) error {
	r := withLanes(driver.Lane{Name: "member", Share: 0.5})
	r.Turn = 5 * time.Second
	p := newPlayer(ctx, h, r)
	shown := positions{p: p, users: names("l", 20)}
	members := names("m", 10)
	if err := steps(
		func() error { _, err := p.join(shown.users...); return err },
		func() error { return p.joinLane("member", members...) },
		func() error { return shown.look("at first") },
	); err != nil {
		return err
	}
	shown.users = append(shown.users, members...)
	for i := range 8 {
		if err := steps(
			func() error { return p.threshold(2 * (i + 1)) },
			func() error { _, err := p.admit(); return err },
			func() error { return shown.look("after some turns") },
			func() error { h.Advance(6 * time.Second); _, err := p.admit(); return err },
			func() error { return shown.look("after silent turns") },
		); err != nil {
			return err
		}
	}
	return nil
}

// laneMembersStandInLine as well: their turn comes by the first of the two, and once; a
// user who left, or was swept, has none. An unknown lane is refused.
func laneMembersStandInLine(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, withLanes(driver.Lane{Name: "member", Share: 0.4}))
	members := names("m", 6)
	if err := p.joinLane("member", members...); err != nil {
		return err
	}
	for i, user := range members {
		o, err := p.stands("in line", user, driver.Waiting)
		if err == nil && o.Ahead != i {
			err = fmt.Errorf("%d. of a lane, and answered %+v", i, o)
		}
		if err != nil {
			return err
		}
	}
	return steps(
		func() error { _, err := p.join("l1", "l2", "l3"); return err },
		func() error { _, err := p.visit(visits(driver.Leave, members[0], members[2])...); return err },
		func() error { _, err := p.join(members[0]); return err }, // in no lane any more
		func() error { return p.threshold(1000) },
		func() error {
			return p.calls("all", members[1], members[3], members[4], members[5], "l1", "l2", "l3", members[0])
		},
		func() error {
			err := p.joinLane("nobility", "x")
			if err == nil || fault.Of(err) != fault.Permanent {
				return fmt.Errorf("a lane that there is not: %w; want a permanent error", orNil(err))
			}
			return nil
		},
	)
}

// sharesOfOperatorsHold from their settings on, whatever the rules say; older settings, and
// changes without shares, change none.
func sharesOfOperatorsHold(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, withLanes(driver.Lane{Name: "member", Share: 0.1}, driver.Lane{Name: "invited", Share: 0.2}))
	p.r.Closed, p.r.Batch = true, 4
	share := func(when string, member float64, least, most int) error {
		s, err := p.state()
		if err != nil {
			return err
		}
		if want := [driver.MaxLanes]driver.Lane{{Name: "member", Share: member}, {Name: "invited", Share: 0.2}}; s.Lanes != want {
			return fmt.Errorf("%s the lanes are %+v, want %+v", when, s.Lanes, want)
		}
		got, err := p.turns(5)
		if err != nil {
			return err
		}
		members := 0
		for _, user := range got {
			if user[0] == 'm' {
				members++
			}
		}
		if len(got) != 20 || members < least || members > most {
			return fmt.Errorf("%s %d of %d turns were those of a lane with a share of %g", when, members, len(got), member)
		}
		return nil
	}
	shares := func(version int64, by map[string]float64) error { return p.knows(version, driver.Change{Shares: by}) }
	return steps(
		func() error { return shares(1, map[string]float64{"member": 0.5}) },
		func() error { _, err := p.join(names("l", 90)...); return err },
		func() error { return p.joinLane("member", names("m", 30)...) },
		func() error { return p.threshold(1000) },
		func() error { return share("with a share of the operator's", 0.5, 9, 11) },
		func() error { return shares(3, map[string]float64{"member": 0, "gone": 0.3}) },
		func() error { return share("without a share", 0, 0, 0) },
		func() error {
			_, err := p.change(driver.Change{Shares: map[string]float64{"member": 0.5}, Settings: new(int64(2))})
			return err
		},
		func() error { return p.knows(4, driver.Change{Paused: new(false)}) },
		func() error { return share("after older settings", 0, 0, 0) },
		func() error { return shares(5, map[string]float64{}) },
		func() error { return share("with the share of the rules", 0.1, 1, 3) },
		func() error {
			_, err := p.change(driver.Change{Shares: map[string]float64{"member": -1}, Settings: new(int64(6))})
			if err == nil || fault.Of(err) != fault.Permanent {
				return fmt.Errorf("a share below 0: %w; want a permanent error", orNil(err))
			}
			return nil
		},
	)
}

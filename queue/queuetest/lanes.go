package queuetest

import (
	"slices"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func laneCases() []testCase {
	clock := []conformance.Need{NeedClock}
	return []testCase{
		{Name: "lanes-take-their-share", Needs: clock, Run: play(lanesTakeTheirShare)},
		{Name: "lanes-raise-no-position", Needs: clock, Run: play(lanesRaiseNoPosition)},
		{Name: "lane-members-stand-in-line", Needs: clock, Run: play(laneMembersStandInLine)},
		{Name: "shares-of-operators-hold", Needs: clock, Run: play(sharesOfOperatorsHold)},
	}
}

func withLanes(lanes ...driver.Lane) driver.Rules {
	r := keeping()
	r.Lanes = lanes
	return r
}

// joinLane lines users up in a lane.
func (p *player) joinLane(lane string, users ...string) {
	all := checks(users...)
	for i := range all {
		all[i].Lane = lane
	}
	p.visit(all...)
}

// turns gives turns for some ticks, and lists whose they were.
func (p *player) turns(ticks int) (got []string) {
	for range ticks {
		p.h.Advance(p.r.Tick)
		before := p.state()
		a := p.admit()
		laned := 0
		for _, one := range a.Admitted {
			got = append(got, one.User)
			if one.Laned {
				laned++
			}
		}
		if a.Laned != before.Laned+laned {
			steps.Fail("%d of the turns %+v are said to be of lanes, and their number went from %d to %d", laned, a.Admitted, before.Laned, a.Laned)
		}
	}
	return got
}

// lanesTakeTheirShare however many turns come at a time, in the order of arrival; what a
// lane does not use is the line's.
func lanesTakeTheirShare(p *player) {
	for _, batch := range []int{1, 4, 40} {
		p := p.other(withLanes(driver.Lane{Name: "member", Share: 0.3}, driver.Lane{Name: "invited", Share: 0.1}, driver.Lane{Name: "empty", Share: 0.2}))
		p.r.Batch = batch
		line, members, invited := names("l", 80), names("m", 30), names("i", 2)
		p.join(line...)
		p.joinLane("member", members...)
		p.joinLane("invited", invited...)
		p.threshold(1000)
		got := p.turns(40 / batch)
		var of [3][]string
		for i, user := range got {
			k := slices.Index([]byte("lmi"), user[0])
			of[k] = append(of[k], user)
			if most := 0.3*float64(i+1) + 1; float64(len(of[1])) > most {
				steps.Fail("in batches of %d %d of %d turns were those of a lane with a share of 0.3", batch, len(of[1]), i+1)
			}
		}
		if len(got) != 40 || len(of[1]) < 11 || len(of[2]) != 2 {
			steps.Fail("in batches of %d, of %d turns %d were those of a lane with a share of 0.3, and %d those of two users with a share of 0.1", batch, len(got), len(of[1]), len(of[2]))
		}
		for i, users := range [][]string{line, members, invited} {
			if !slices.Equal(of[i], users[:len(of[i])]) {
				steps.Fail("in batches of %d the turns were those of %v, in another order than the users came", batch, got)
			}
		}
	}
}

// lanesRaiseNoPosition of the users whom the lane passes.
func lanesRaiseNoPosition(p *player) {
	p.r = withLanes(driver.Lane{Name: "member", Share: 0.5})
	p.r.Turn = 5 * time.Second
	shown := positions{p: p, users: names("l", 20)}
	members := names("m", 10)
	p.join(shown.users...)
	p.joinLane("member", members...)
	shown.look("at first")
	shown.users = append(shown.users, members...)
	for i := range 8 {
		p.threshold(2 * (i + 1))
		p.admit()
		shown.look("after some turns")
		p.h.Advance(6 * time.Second)
		p.admit()
		shown.look("after silent turns")
	}
}

// laneMembersStandInLine as well: their turn comes by the first of the two, and once; a
// user who left, or was swept, has none. An unknown lane is refused.
func laneMembersStandInLine(p *player) {
	p.r = withLanes(driver.Lane{Name: "member", Share: 0.4})
	members := names("m", 6)
	p.joinLane("member", members...)
	for i, user := range members {
		if o := p.stands("in line", user, driver.Waiting); o.Ahead != i {
			steps.Fail("%d. of a lane, and answered %+v", i, o)
		}
	}
	p.join("l1", "l2", "l3")
	p.leave(members[0], members[2])
	p.join(members[0]) // in no lane any more
	p.threshold(1000)
	p.calls("all", members[1], members[3], members[4], members[5], "l1", "l2", "l3", members[0])
	refused("a lane that there is not", steps.Try(func() { p.joinLane("nobility", "x") }))
	p = p.other(withLanes(driver.Lane{Name: "member", Share: 0.5}))
	p.joinLane("member", names("gone", 40)...)
	p.join("l1", "l2")
	p.joinLane("member", "last")
	p.leave(names("gone", 40)...)
	p.r.Batch = 1
	p.threshold(1000)
	if got := p.turns(2); !slices.Equal(got, []string{"l1", "last"}) {
		steps.Fail("behind users of the lane who left the turns were those of %v", got)
	}
}

// sharesOfOperatorsHold from their settings on, whatever the rules say; older settings, and
// changes without shares, change none.
func sharesOfOperatorsHold(p *player) {
	p.r = withLanes(driver.Lane{Name: "member", Share: 0.1}, driver.Lane{Name: "invited", Share: 0.2})
	p.r.Closed, p.r.Batch = true, 4
	share := func(when string, member float64, least, most int) {
		s := p.state()
		if want := [driver.MaxLanes]driver.Lane{{Name: "member", Share: member}, {Name: "invited", Share: 0.2}}; s.Lanes != want {
			steps.Fail("%s the lanes are %+v, want %+v", when, s.Lanes, want)
		}
		got := p.turns(5)
		members := 0
		for _, user := range got {
			if user[0] == 'm' {
				members++
			}
		}
		if len(got) != 20 || members < least || members > most {
			steps.Fail("%s %d of %d turns were those of a lane with a share of %g", when, members, len(got), member)
		}
	}
	shares := func(version int64, by map[string]float64) { p.knows(version, driver.Change{Shares: by}) }
	shares(1, map[string]float64{"member": 0.5})
	p.join(names("l", 90)...)
	p.joinLane("member", names("m", 30)...)
	p.threshold(1000)
	share("with a share of the operator's", 0.5, 9, 11)
	shares(3, map[string]float64{"member": 0, "gone": 0.3})
	share("without a share", 0, 0, 0)
	p.change(driver.Change{Shares: map[string]float64{"member": 0.5}, Settings: new(int64(2))})
	p.knows(4, driver.Change{Paused: new(false)})
	share("after older settings", 0, 0, 0)
	shares(5, map[string]float64{})
	share("with the share of the rules", 0.1, 1, 3)
	refused("a share below 0", steps.Try(func() {
		p.change(driver.Change{Shares: map[string]float64{"member": -1}, Settings: new(int64(6))})
	}))
}

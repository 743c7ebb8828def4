package queuetest

import (
	"fmt"
	"math"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func stayCases() []testCase {
	return []testCase{
		{Name: "stays-are-counted", Needs: []conformance.Need{NeedClock}, Run: play(staysAreCounted)},
		{Name: "stays-begin-anew", Run: play(staysBeginAnew)},
	}
}

// inside checks the cohorts: so many users of about these ages, the oldest first.
func (p *player) inside(when string, ages ...time.Duration) {
	s := p.state()
	if s.Stays == nil || len(s.Stays.Inside) != len(ages) {
		steps.Fail("%s the stays are %+v, want cohorts of the ages %v", when, s.Stays, ages)
	}
	for i, cohort := range s.Stays.Inside {
		if cohort.Users != 1 || (cohort.Age-ages[i]).Abs() > 5*time.Second {
			steps.Fail("%s cohort %d is %+v, want one user of %v", when, i, cohort, ages[i])
		}
	}
}

// ended checks the stays that are over.
func (p *player) ended(when string, came int64, lengths ...time.Duration) {
	s := p.state()
	var want [driver.StayBuckets]int64
	for _, d := range lengths {
		want[driver.StayBucket(d)]++
	}
	if s.Stays == nil || s.Stays.Ended != want || s.Stays.Came != came {
		steps.Fail("%s the stays are %+v, want %d that came, and lengths of %v", when, s.Stays, came, lengths)
	}
}

// counted is how many users inside the stays tell of.
func counted(s *driver.Stays) (users int) {
	if s == nil {
		return 0
	}
	for _, cohort := range s.Inside {
		users += cohort.Users
	}
	return users
}

// staysAreCounted: from when users are first seen inside until they are out. All
// lengths are far from the ends of their buckets.
func staysAreCounted(p *player) {
	p.r = limited(2)
	const second = time.Second
	p.inside("before anybody came")
	p.enter("a")
	p.h.Advance(120 * second)
	p.enter("b")
	p.join("c", "d")
	p.inside("with two inside", 120*second, 0)
	p.h.Advance(100 * second)
	p.one(driver.Visit{Kind: driver.Done, User: "a"})
	p.ended("after a was done", 0, 220*second)
	p.calls("one place", "c")
	p.inside("with one whose turn has come", 100*second)
	p.h.Advance(10 * second)
	p.stands("who came", "c", driver.Active)
	p.inside("after c came", 110*second, 0)
	p.leave("b")
	p.ended("after b left", 1, 220*second, 110*second)
	p.calls("another place", "d")
	p.leave("d")
	p.ended("after d left without a place", 1, 220*second, 110*second)
	p.h.Advance(p.r.Active + second)
	p.admits("after all times are over")
	p.inside("after all times are over")
	p.ended("after c's time was over", 1, 220*second, 110*second, p.r.Active)
	if got := p.state().Stays; got.Active != p.r.Active || got.NoShow != p.r.NoShow || got.Tick != p.r.Tick || got.Batch != p.r.Batch || got.Over < 13*time.Minute {
		steps.Fail("the stays by the rules %+v are %+v", p.r, got)
	}
	p.enter("e")
	p.change(driver.Change{Clear: true})
	p.inside("after clearing")
	p.ended("after clearing", 0)
	p.threshold(math.MaxInt)
	for range 2 {
		p.enter("f")
		p.h.Advance(10 * second)
		p.leave("f")
	}
	p.ended("without a threshold", 0, 10*second, 10*second)
}

// staysBeginAnew: the counts are those of the users of late, of several times as many
// as may be inside.
func staysBeginAnew(p *player) {
	p.r = limited(1)
	const users, each = 5000, driver.MaxVisits / 2
	for from := 0; from < users; from += each {
		var all []driver.Visit
		for _, user := range names(fmt.Sprint("u", from, "-"), each) {
			all = append(all, driver.Visit{Kind: driver.Check, User: user}, driver.Visit{Kind: driver.Done, User: user})
		}
		got := p.visit(all...)
		if got.Departed != int64(from+each) {
			steps.Fail("%d came and went, and the room is %+v", from+each, got.State)
		}
	}
	s := p.state()
	sum := int64(0)
	for _, n := range s.Stays.Ended {
		sum += n
	}
	if sum < 250 || sum > users/2 {
		steps.Fail("%d came and went through one place, and %d stays are counted", users, sum)
	}
}

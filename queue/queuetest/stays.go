package queuetest

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue/driver"
)

func stayCases() []testCase {
	return []testCase{
		{Name: "stays-are-counted", Needs: []conformance.Need{NeedClock}, Run: staysAreCounted},
		{Name: "stays-begin-anew", Run: staysBeginAnew},
	}
}

// inside checks the cohorts: so many users of about these ages, the oldest first.
func (p *player) inside(when string, ages ...time.Duration) error {
	s, err := p.state()
	if err != nil {
		return err
	}
	if s.Stays == nil || len(s.Stays.Inside) != len(ages) {
		return fmt.Errorf("%s the stays are %+v, want cohorts of the ages %v", when, s.Stays, ages)
	}
	for i, cohort := range s.Stays.Inside {
		if cohort.Users != 1 || (cohort.Age-ages[i]).Abs() > 5*time.Second {
			return fmt.Errorf("%s cohort %d is %+v, want one user of %v", when, i, cohort, ages[i])
		}
	}
	return nil
}

// ended checks the stays that are over.
func (p *player) ended(when string, came int64, lengths ...time.Duration) error {
	s, err := p.state()
	if err != nil {
		return err
	}
	var want [driver.StayBuckets]int64
	for _, d := range lengths {
		want[driver.StayBucket(d)]++
	}
	if s.Stays == nil || s.Stays.Ended != want || s.Stays.Came != came {
		return fmt.Errorf("%s the stays are %+v, want %d that came, and lengths of %v", when, s.Stays, came, lengths)
	}
	return nil
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
func staysAreCounted(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(2))
	leave := func(kind driver.Kind, user string) func() error {
		return func() error { _, err := p.one(driver.Visit{Kind: kind, User: user}); return err }
	}
	later := func(d time.Duration) func() error {
		return func() error { h.Advance(d); return nil }
	}
	const second = time.Second
	return steps(
		func() error { return p.inside("before anybody came") },
		func() error { _, err := p.enter("a"); return err },
		later(120*second),
		func() error { _, err := p.enter("b"); return err },
		func() error { _, err := p.join("c", "d"); return err },
		func() error { return p.inside("with two inside", 120*second, 0) },
		later(100*second),
		leave(driver.Done, "a"),
		func() error { return p.ended("after a was done", 0, 220*second) },
		func() error { return p.calls("one place", "c") },
		func() error { return p.inside("with one whose turn has come", 100*second) },
		later(10*second),
		func() error { _, err := p.stands("who came", "c", driver.Active); return err },
		func() error { return p.inside("after c came", 110*second, 0) },
		leave(driver.Leave, "b"),
		func() error { return p.ended("after b left", 1, 220*second, 110*second) },
		func() error { return p.calls("another place", "d") },
		leave(driver.Leave, "d"),
		func() error { return p.ended("after d left without a place", 1, 220*second, 110*second) },
		later(p.r.Active+second),
		func() error { return p.admits("after all times are over") },
		func() error { return p.inside("after all times are over") },
		func() error { return p.ended("after c's time was over", 1, 220*second, 110*second, p.r.Active) },
		func() error {
			s, err := p.state()
			told := driver.Stays{Active: p.r.Active, NoShow: p.r.NoShow, Tick: p.r.Tick, Batch: p.r.Batch}
			if got := s.Stays; err == nil && (got.Active != told.Active || got.NoShow != told.NoShow || got.Tick != told.Tick || got.Batch != told.Batch || got.Over < 13*time.Minute) {
				err = fmt.Errorf("the stays by the rules %+v are %+v", p.r, got)
			}
			return err
		},
		func() error { _, err := p.enter("e"); return err },
		func() error { _, err := p.change(driver.Change{Clear: true}); return err },
		func() error { return p.inside("after clearing") },
		func() error { return p.ended("after clearing", 0) },
	)
}

// staysBeginAnew: the counts are those of the users of late, of several times as many
// as may be inside.
func staysBeginAnew(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(1))
	const users, each = 5000, driver.MaxVisits / 2
	for from := 0; from < users; from += each {
		var all []driver.Visit
		for _, user := range names(fmt.Sprint("u", from, "-"), each) {
			all = append(all, driver.Visit{Kind: driver.Check, User: user}, driver.Visit{Kind: driver.Done, User: user})
		}
		got, err := p.visit(all...)
		if err != nil {
			return err
		}
		if got.Departed != int64(from+each) {
			return fmt.Errorf("%d came and went, and the room is %+v", from+each, got.State)
		}
	}
	s, err := p.state()
	if err != nil {
		return err
	}
	sum := int64(0)
	for _, n := range s.Stays.Ended {
		sum += n
	}
	if sum < 250 || sum > users/2 {
		return fmt.Errorf("%d came and went through one place, and %d stays are counted", users, sum)
	}
	return nil
}

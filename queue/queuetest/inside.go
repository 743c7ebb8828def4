package queuetest

import (
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func insideCases() []testCase {
	clock := []conformance.Need{NeedClock}
	return []testCase{
		{Name: "leave-and-done", Run: play(leaveAndDone)},
		{Name: "verify-by-entry", Run: play(verifyByEntry)},
		{Name: "active-time-is-fixed", Needs: clock, Run: play(activeTimeIsFixed)},
		{Name: "expired-take-no-place", Needs: clock, Run: play(expiredTakeNoPlace)},
		{Name: "silent-inside-are-out", Needs: clock, Run: play(silentInsideAreOut)},
	}
}

func leaveAndDone(p *player) {
	p.r = limited(2)
	out := func(kind driver.Kind, user string, want driver.Outcome) {
		o := p.one(driver.Visit{Kind: kind, User: user})
		if o.Status == driver.Waiting {
			o.Order, o.Ahead = 0, 0
		}
		if o != want {
			steps.Fail("kind %d of %s is answered %+v, want %+v", kind, user, o, want)
		}
	}
	gone, nothing := driver.Outcome{New: true}, driver.Outcome{}
	p.enter("in1", "in2")
	p.join("a", "b", "c", "d")
	out(driver.Done, "b", driver.Outcome{Status: driver.Waiting})
	p.counts("after a waiting user was done", 4, 2, 0)
	out(driver.Leave, "b", gone)
	out(driver.Leave, "b", nothing)
	out(driver.Done, "in1", gone)
	out(driver.Done, "in1", nothing)
	p.counts("after three left", 3, 1, 0)
	p.admits("one place", "a")
	out(driver.Done, "a", gone)
	out(driver.Leave, "in2", gone)
	p.admits("two places", "c", "d")
	p.join("b") // at the end: both places are taken
	if s := p.state(); s.Departed != 4 || s.Entered != 5 || s.Joined != 7 || s.Expired+s.NoShows+s.Swept != 0 {
		steps.Fail("seven joined, five entered, four departed, and the room is %+v", s)
	}
}

// verifyByEntry: an entry is valid as long as its admission, not for a later one.
func verifyByEntry(p *player) {
	p.r = limited(1)
	verify := func(when, user string, entry int64, want bool) {
		if o := p.one(driver.Visit{Kind: driver.Verify, User: user, Entry: entry}); (o.Status == driver.Active) != want {
			steps.Fail("%s the entry of %s verifies as %+v", when, user, o)
		}
	}
	first := p.enter("a")
	second := p.join("b")
	verify("inside", "a", first[0], true)
	verify("with another's entry", "a", second[0], false)
	verify("without an entry", "a", 0, false)
	verify("waiting", "b", second[0], false)
	p.leave("a")
	verify("after leaving", "a", first[0], false)
	p.admits("one place", "b")
	verify("with the right entry", "b", second[0], true)
	p.counts("Verify is a sign of life", 0, 1, 0)
	p.one(driver.Visit{Kind: driver.Done, User: "b"})
	again := p.enter("a")
	verify("inside again", "a", again[0], true)
	verify("inside again, with the entry before", "a", first[0], false)
}

// activeTimeIsFixed: signs of life do not prolong it.
func activeTimeIsFixed(p *player) {
	p.r = limited(1)
	got := p.visit(checks("a")...)
	ends := got.Now.Add(got.Outcomes[0].Left)
	for i, kind := range []driver.Kind{driver.Heartbeat, driver.Check, driver.Heartbeat} {
		p.h.Advance(150 * time.Second)
		got := p.visit(visits(kind, "a")...)
		o := got.Outcomes[0]
		if off := got.Now.Add(o.Left).Sub(ends).Abs(); o.Status != driver.Active || o.New || off > 5*time.Millisecond {
			steps.Fail("visit %d of who is to be out at %s is answered %+v at %s", i, ends, o, got.Now)
		}
	}
	p.h.Advance(ends.Sub(got.Now) - 450*time.Second + 10*time.Second)
	p.stands("after the time", "a", driver.None)
	p.admits("after the time")
	if s := p.state(); s.Expired != 1 || s.NoShows != 0 || s.Active != 0 {
		steps.Fail("one expired, and the room is %+v", s)
	}
}

// expiredTakeNoPlace: from the end of their time on, before a call removes them.
func expiredTakeNoPlace(p *player) {
	p.r = limited(2)
	p.enter("a", "b")
	p.h.Advance(p.r.Active + time.Second)
	p.counts("after their time", 0, 0, 0)
	p.enter("c", "d")
	p.join("a")
	p.counts("after others came", 1, 2, 0)
}

// silentInsideAreOut: users inside without signs of life.
func silentInsideAreOut(p *player) {
	p.r = limited(2)
	p.r.Active = 10 * p.r.Seen
	p.enter("silent", "loud")
	p.join("next")
	for range 2 {
		p.h.Advance(p.r.Seen/2 + time.Second)
		p.stands("heard of in time", "loud", driver.Active)
	}
	p.admits("the place of who was silent", "next")
	p.stands("after silence", "silent", driver.None)
	p.stands("heard of in time", "loud", driver.Active)
	if s := p.state(); s.Expired != 1 {
		steps.Fail("one was silent, and %d expired", s.Expired)
	}
}

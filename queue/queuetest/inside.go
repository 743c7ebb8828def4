package queuetest

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue/driver"
)

func insideCases() []testCase {
	clock := []conformance.Need{NeedClock}
	return []testCase{
		{Name: "leave-and-done", Run: leaveAndDone},
		{Name: "verify-by-entry", Run: verifyByEntry},
		{Name: "active-time-is-fixed", Needs: clock, Run: activeTimeIsFixed},
		{Name: "expired-take-no-place", Needs: clock, Run: expiredTakeNoPlace},
		{Name: "silent-inside-are-out", Needs: clock, Run: silentInsideAreOut},
	}
}

func leaveAndDone(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(2))
	out := func(kind driver.Kind, user string, want driver.Outcome) func() error {
		return func() error {
			o, err := p.one(driver.Visit{Kind: kind, User: user})
			if o.Status == driver.Waiting {
				o.Order, o.Ahead = 0, 0
			}
			if err == nil && o != want {
				err = fmt.Errorf("kind %d of %s is answered %+v, want %+v", kind, user, o, want)
			}
			return err
		}
	}
	gone, nothing := driver.Outcome{New: true}, driver.Outcome{}
	return steps(
		func() error { _, err := p.enter("in1", "in2"); return err },
		func() error { _, err := p.join("a", "b", "c", "d"); return err },
		out(driver.Done, "b", driver.Outcome{Status: driver.Waiting}),
		func() error { return p.counts("after a waiting user was done", 4, 2, 0) },
		out(driver.Leave, "b", gone),
		out(driver.Leave, "b", nothing),
		out(driver.Done, "in1", gone),
		out(driver.Done, "in1", nothing),
		func() error { return p.counts("after three left", 3, 1, 0) },
		func() error { return p.admits("one place", "a") },
		out(driver.Done, "a", gone),
		out(driver.Leave, "in2", gone),
		func() error { return p.admits("two places", "c", "d") },
		func() error { _, err := p.join("b"); return err }, // at the end: both places are taken
		func() error {
			s, err := p.state()
			if err == nil && (s.Departed != 4 || s.Entered != 5 || s.Joined != 7 || s.Expired+s.NoShows+s.Swept != 0) {
				err = fmt.Errorf("seven joined, five entered, four departed, and the room is %+v", s)
			}
			return err
		},
	)
}

// verifyByEntry: an entry is valid as long as its admission, not for a later one.
func verifyByEntry(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(1))
	verify := func(when, user string, entry int64, want bool) error {
		o, err := p.one(driver.Visit{Kind: driver.Verify, User: user, Entry: entry})
		if err == nil && (o.Status == driver.Active) != want {
			err = fmt.Errorf("%s the entry of %s verifies as %+v", when, user, o)
		}
		return err
	}
	first, err := p.enter("a")
	if err != nil {
		return err
	}
	second, err := p.join("b")
	if err != nil {
		return err
	}
	return steps(
		func() error { return verify("inside", "a", first[0], true) },
		func() error { return verify("with another's entry", "a", second[0], false) },
		func() error { return verify("without an entry", "a", 0, false) },
		func() error { return verify("waiting", "b", second[0], false) },
		func() error { _, err := p.one(driver.Visit{Kind: driver.Leave, User: "a"}); return err },
		func() error { return verify("after leaving", "a", first[0], false) },
		func() error { return p.admits("one place", "b") },
		func() error { return verify("with the right entry", "b", second[0], true) },
		func() error { return p.counts("Verify is a sign of life", 0, 1, 0) },
		func() error { _, err := p.one(driver.Visit{Kind: driver.Done, User: "b"}); return err },
		func() error {
			again, err := p.enter("a")
			if err != nil {
				return err
			}
			if err := verify("inside again", "a", again[0], true); err != nil {
				return err
			}
			return verify("inside again, with the entry before", "a", first[0], false)
		},
	)
}

// activeTimeIsFixed: signs of life do not prolong it.
func activeTimeIsFixed(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(1))
	got, err := p.visit(checks("a")...)
	if err != nil {
		return err
	}
	ends := got.Now.Add(got.Outcomes[0].Left)
	for i, kind := range []driver.Kind{driver.Heartbeat, driver.Check, driver.Heartbeat} {
		h.Advance(150 * time.Second)
		got, err := p.visit(visits(kind, "a")...)
		if err != nil {
			return err
		}
		o := got.Outcomes[0]
		if off := got.Now.Add(o.Left).Sub(ends).Abs(); o.Status != driver.Active || o.New || off > 5*time.Millisecond {
			return fmt.Errorf("visit %d of who is to be out at %s is answered %+v at %s", i, ends, o, got.Now)
		}
	}
	h.Advance(ends.Sub(got.Now) - 450*time.Second + 10*time.Second)
	if _, err := p.stands("after the time", "a", driver.None); err != nil {
		return err
	}
	if err := p.admits("after the time"); err != nil {
		return err
	}
	s, err := p.state()
	if err == nil && (s.Expired != 1 || s.NoShows != 0 || s.Active != 0) {
		err = fmt.Errorf("one expired, and the room is %+v", s)
	}
	return err
}

// expiredTakeNoPlace: from the end of their time on, before a call removes them.
func expiredTakeNoPlace(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(2))
	if _, err := p.enter("a", "b"); err != nil {
		return err
	}
	h.Advance(p.r.Active + time.Second)
	return steps(
		func() error { return p.counts("after their time", 0, 0, 0) },
		func() error { _, err := p.enter("c", "d"); return err },
		func() error { _, err := p.join("a"); return err },
		func() error { return p.counts("after others came", 1, 2, 0) },
	)
}

// silentInsideAreOut: users inside without signs of life.
func silentInsideAreOut(ctx context.Context, h Harness) error {
	r := limited(2)
	r.Active = 10 * r.Seen
	p := newPlayer(ctx, h, r)
	if _, err := p.enter("silent", "loud"); err != nil {
		return err
	}
	if _, err := p.join("next"); err != nil {
		return err
	}
	for range 2 {
		h.Advance(r.Seen/2 + time.Second)
		if _, err := p.stands("heard of in time", "loud", driver.Active); err != nil {
			return err
		}
	}
	return steps(
		func() error { return p.admits("the place of who was silent", "next") },
		func() error { _, err := p.stands("after silence", "silent", driver.None); return err },
		func() error { _, err := p.stands("heard of in time", "loud", driver.Active); return err },
		func() error {
			s, err := p.state()
			if err == nil && s.Expired != 1 {
				err = fmt.Errorf("one was silent, and %d expired", s.Expired)
			}
			return err
		},
	)
}

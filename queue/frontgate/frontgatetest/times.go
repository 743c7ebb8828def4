package frontgatetest

import (
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

func timeCases() []testCase {
	return []testCase{
		{Name: "shows-its-clock", Run: opened(showsItsClock)},
		{Name: "lost-counters", Run: opened(lostCounters)},
		{Name: "kept-while-on", Run: opened(keptWhileOn)},
		{Name: "kept-after-off", Needs: []conformance.Need{NeedExpiry}, Run: opened(keptAfterOff)},
	}
}

func showsItsClock(p player) {
	before := p.state()
	for i, ask := range []func() driver.State{
		p.state,
		p.peer().state,
		func() driver.State { return p.take(1) },
		func() driver.State { return p.turn(true) },
		func() driver.State { return p.advance(1, every).State },
	} {
		p.h.Move(time.Hour)
		now := ask()
		if passed := now.Now.Sub(before.Now); passed != time.Duration(i+1)*time.Hour {
			steps.Fail("%d hours later the store's clock shows %s more", i+1, passed)
		}
	}
	if began := time.UnixMicro(int64(before.Epoch)); !began.Equal(before.Now) {
		steps.Fail("the epoch is %s, and the counters began at %s", began, before.Now)
	}
}

func lostCounters(p player) {
	p.assign(10, 10)
	before := p.state()
	p.h.Move(time.Second)
	p.lose()
	if lost := p.state(); !same(lost, driver.State{}) {
		steps.Fail("after a loss the gate stands at %+v", lost)
	}
	again := p.turn(true)
	if again.Epoch == before.Epoch || again.Assigned != 0 || again.Serving != 0 || again.Opened != 0 {
		steps.Fail("switched on after a loss it stands at %+v, and before at %+v", again, before)
	}
	p.assign(1, 1)
}

func keptWhileOn(p player) {
	p.assign(10, 10)
	before := p.state()
	p.h.Move(10 * driver.Kept)
	if now := p.state(); !same(now, before) {
		steps.Fail("a gate that is on stood at %+v, and ten days later at %+v", before, now)
	}
	p.listed(p.event)
	p.assign(1, 11)
}

func keptAfterOff(p player) {
	first := p.state()
	p.assign(10, 10)
	p.turn(false)
	p.h.Move(driver.Kept)
	// Keeping too long and not at all are both wrong; a minute is left.
	p.h.Move(-time.Minute)
	if s := p.turn(true); s.Epoch != first.Epoch || s.Assigned != 10 {
		steps.Fail("a minute before its time is over, the gate stands at %+v", s)
	}
	p.turn(false)
	p.h.Move(driver.Kept + time.Minute)
	if s := p.state(); !same(s, driver.State{}) {
		steps.Fail("a minute after its time was over, the gate stands at %+v", s)
	}
	p.listed()
	if s := p.turn(true); s.Epoch == first.Epoch || s.Assigned != 0 || s.Serving != 0 {
		steps.Fail("switched on after its time was over, the gate stands at %+v", s)
	}
	p.assign(1, 1)
}

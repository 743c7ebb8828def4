package frontgatetest

import (
	"slices"
	"sync"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

func positionCases() []testCase {
	return []testCase{
		{Name: "off-by-default", Run: play(offByDefault)},
		{Name: "positions-from-one", Run: opened(positionsFromOne)},
		{Name: "off-gives-none", Run: opened(offGivesNone)},
		{Name: "dense-over-callers", Run: opened(denseOverCallers)},
		{Name: "events-apart", Run: opened(eventsApart)},
		{Name: "events-are-listed", Run: play(eventsAreListed)},
	}
}

func offByDefault(p player) {
	nothing := func(when string, s driver.State) {
		if !same(s, driver.State{}) {
			steps.Fail("%s, a gate that nobody switched on stands at %+v", when, s)
		}
	}
	nothing("at first", p.state())
	nothing("asked for a position", p.take(1))
	nothing("after a round", p.round("while it never was on", 5, every, 0).State)
	nothing("switched off", p.turn(false))
	nothing("after all that", p.state())
	p.listed()
}

func positionsFromOne(p player) {
	p.assign(1, 1)
	p.peer().assign(5, 6)
	p.assign(driver.MaxAssign, 6+driver.MaxAssign)
}

func offGivesNone(p player) {
	p.assign(3, 3)
	off := p.turn(false)
	for range 2 {
		if s := p.peer().take(2); s.On || !same(s, off) {
			steps.Fail("positions are given out while the gate is off: %+v, and before %+v", s, off)
		}
	}
	p.expect("after assigning while off", off, func(s driver.State) bool { return s.Assigned == 3 })
}

func denseOverCallers(p player) {
	var mu sync.Mutex
	var given []int64
	p.together(func(i int, q player) {
		for call := range 12 {
			n := 1 + (i+call)%4
			s := q.take(n)
			mu.Lock()
			for one := s.Assigned - int64(n) + 1; one <= s.Assigned; one++ {
				given = append(given, one)
			}
			mu.Unlock()
		}
	})
	slices.Sort(given)
	for i, one := range given {
		if one != int64(i)+1 {
			steps.Fail("of %d positions given out at once, the %d. in order is %d", len(given), i+1, one)
		}
	}
}

func eventsApart(p player) {
	other := p.of("show-11")
	p.assign(4, 4)
	if s := other.state(); !same(s, driver.State{}) {
		steps.Fail("the gate of another event stands at %+v", s)
	}
	other.turn(true)
	other.assign(1, 1)
	other.round("of another event", 5, every, 1)
	p.round("of the first", 3, every, 3)
	other.turn(false)
	p.assign(1, 5)
}

func eventsAreListed(p player) {
	second := p.of("a:b/ü-2")
	p.listed()
	p.turn(true)
	p.listed(p.event)
	second.peer().turn(true)
	p.listed(p.event, second.event)
	p.turn(false)
	p.listed(p.event, second.event)
	p.lose()
	p.listed()
}

// listed compares the events of both processes.
func (p player) listed(want ...string) {
	for _, store := range []driver.Store{p.h.Store, p.h.Peer} {
		events, err := store.Events(p.ctx)
		steps.Named(err, "events")
		got := slices.Sorted(slices.Values(events))
		if !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			steps.Fail("the events are %q, want %q", got, want)
		}
	}
}

package frontgatetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

func switchCases() []testCase {
	return []testCase{
		{Name: "off-admits-holders", Run: opened(offAdmitsHolders)},
		{Name: "on-again-goes-on", Run: opened(onAgainGoesOn)},
		{Name: "switching-twice", Run: opened(switchingTwice)},
		{Name: "many-switch-on", Run: play(manySwitchOn)},
	}
}

func offAdmitsHolders(p player) {
	p.assign(30, 30)
	p.round("before", 5, every, 5)
	off := p.turn(false)
	right := func(s driver.State) bool { return !s.On && s.Assigned == 30 && s.Serving == 30 }
	p.expect("switched off with 30 positions given out", off, right)
	p.h.Move(every)
	if r := p.round("while off", 5, every, 0); !same(r.State, off) {
		steps.Fail("a round of a gate that is off changed %+v to %+v", off, r.State)
	}
}

func onAgainGoesOn(p player) {
	first := p.state()
	given := int64(0)
	for range 3 {
		p.assign(10, given+10)
		given += 10
		p.turn(false)
		p.h.Move(every)
		again := p.peer().turn(true)
		right := func(s driver.State) bool {
			return s.On && s.Epoch == first.Epoch && s.Assigned == given && s.Serving == given && s.Opened == given
		}
		p.expect(fmt.Sprintf("switched off and on again after %d positions of epoch %d", given, first.Epoch), again, right)
	}
}

func switchingTwice(p player) {
	p.assign(10, 10)
	before := p.state()
	p.h.Move(every)
	on := p.peer().turn(true)
	p.expect(fmt.Sprintf("switched on while on at %+v", before), on, func(s driver.State) bool { return same(s, before) })
	off := p.turn(false)
	p.h.Move(every)
	again := p.peer().turn(false)
	p.expect(fmt.Sprintf("switched off while off at %+v", off), again, func(s driver.State) bool { return same(s, off) })
}

// manySwitchOn lets many callers switch a gate on and take a position: no caller
// begins new counters over those of another.
func manySwitchOn(p player) {
	var mu sync.Mutex
	var given []int64
	epochs := map[uint64]bool{}
	p.together(func(_ int, q player) {
		q.turn(true)
		s := q.take(1)
		mu.Lock()
		defer mu.Unlock()
		epochs[s.Epoch], given = true, append(given, s.Assigned)
	})
	slices.Sort(given)
	if want := []int64{1, 2, 3, 4, 5, 6, 7, 8}; len(epochs) != 1 || !slices.Equal(given, want) {
		steps.Fail("%d switched the gate on and took a position each: %d epochs, positions %v", callers, len(epochs), given)
	}
}

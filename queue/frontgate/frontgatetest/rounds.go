package frontgatetest

import (
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
)

func roundCases() []testCase {
	return []testCase{
		{Name: "never-past-assigned", Run: opened(neverPastAssigned)},
		{Name: "rounds-are-apart", Run: opened(roundsAreApart)},
		{Name: "rounds-over-callers", Run: opened(roundsOverCallers)},
		{Name: "empty-rounds-count", Run: opened(emptyRoundsCount)},
		{Name: "operators-rounds", Run: opened(operatorsRounds)},
		{Name: "clock-set-back", Run: opened(clockSetBack)},
	}
}

func neverPastAssigned(p player) {
	next := func(by, moved int64) {
		p.h.Move(every)
		if r := p.round("one after another", by, every, moved); r.Serving > r.Assigned {
			steps.Fail("the serving counter is past the positions given out: %+v", r.State)
		}
	}
	next(5, 0)
	p.assign(12, 12)
	next(5, 5)
	next(5, 5)
	next(5, 2)
	next(5, 0)
	p.assign(3, 15)
	next(1, 1)
	next(100, 2)
	p.round("by an operator", 100, 0, 0)
}

func roundsAreApart(p player) {
	p.assign(1000, 1000)
	p.round("the first", 10, every, 10)
	for range 3 {
		for _, wait := range []time.Duration{0, 4 * time.Second, every - 4*time.Second - time.Millisecond} {
			p.h.Move(wait)
			r := p.peer().round("too early", 10, every, 0)
			if r.Next <= 0 || r.Next > every {
				steps.Fail("too early: the next round is said to be in %s", r.Next)
			}
			// The announced time is exact: a round is made then, and not before. The
			// last wait leaves a millisecond.
			if wait == every-4*time.Second-time.Millisecond && r.Next != time.Millisecond {
				steps.Fail("a millisecond before it, the next round is said to be in %s", r.Next)
			}
		}
		p.h.Move(time.Millisecond)
		if r := p.round("in time", 10, every, 10); r.Next != every {
			steps.Fail("after a round the next is said to be in %s, want %s", r.Next, every)
		}
	}
}

func roundsOverCallers(p player) {
	p.assign(100, 100)
	for round := int64(1); round <= 3; round++ {
		var sum atomic.Int64
		p.together(func(_ int, q player) { sum.Add(q.advance(5, every).Moved) })
		if s := p.state(); sum.Load() != 5 || s.Serving != 5*round {
			steps.Fail("%d callers at once made rounds of 5 that raised by %d together, to %d in round %d", callers, sum.Load(), s.Serving, round)
		}
		p.h.Move(every)
	}
}

func emptyRoundsCount(p player) {
	p.round("while nobody came", 5, every, 0)
	p.assign(20, 20)
	p.round("right after an empty one", 5, every, 0)
	p.h.Move(every)
	p.round("in time", 5, every, 5)
}

func operatorsRounds(p player) {
	p.assign(100, 100)
	p.round("by an operator, first", 7, 0, 7)
	p.round("the first that is not", 5, every, 5)
	p.round("by an operator, in between", 7, 0, 7)
	p.round("by an operator, again", 7, 0, 7)
	p.round("too early", 5, every, 0)
	p.h.Move(every - time.Millisecond)
	p.round("by an operator, just before", 7, 0, 7)
	p.round("too early by a millisecond", 5, every, 0)
	p.h.Move(time.Millisecond)
	p.round("in time", 5, every, 5)
}

func clockSetBack(p player) {
	p.assign(100, 100)
	p.round("the first", 5, every, 5)
	p.h.Move(-time.Hour)
	p.round("with the clock an hour back", 5, every, 5)
	p.round("right after it", 5, every, 0)
	p.h.Move(every)
	p.round("in time", 5, every, 5)
}

package frontgatetest

import (
	"slices"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

func memberCases() []testCase {
	return []testCase{
		{Name: "members-keep-their-first", Run: opened(membersKeepTheirFirst)},
		{Name: "members-over-callers", Run: opened(membersOverCallers)},
		{Name: "members-of-counters", Run: opened(membersOfCounters)},
		{Name: "members-for-a-day", Needs: []conformance.Need{NeedExpiry}, Run: opened(membersForADay)},
	}
}

// kept compares the positions that members have, for asks such as "ann" alone or with a position.
func (p player) kept(when string, epoch uint64, want []int64, asks ...driver.Ask) {
	positions, err := p.h.Store.Keep(p.ctx, p.event, epoch, asks)
	steps.Named(err, "%s: keep", when)
	if !slices.Equal(positions, want) {
		steps.Fail("%s: the positions for %v are %d, want %d", when, asks, positions, want)
	}
}

func ask(member string, position int64) driver.Ask {
	return driver.Ask{Member: member, Position: position}
}

func membersKeepTheirFirst(p player) {
	epoch := p.take(9).Epoch
	p.kept("before any", epoch, []int64{0, 0}, ask("ann", 0), ask("bob", 0))
	p.kept("the first", epoch, []int64{3, 0}, ask("ann", 3), ask("bob", 0))
	p.peer().kept("a second", epoch, []int64{3, 5}, ask("ann", 4), ask("bob", 5))
	p.kept("one below", epoch, []int64{3}, ask("ann", 1))
	p.kept("twice in a call", epoch, []int64{7, 7, 3}, ask("a:b/ü-2", 7), ask("a:b/ü-2", 7), ask("ann", 9))
	p.turn(false)
	p.peer().kept("switched off", epoch, []int64{5, 3}, ask("bob", 0), ask("ann", 0))
}

func membersOverCallers(p player) {
	epoch := p.take(9).Epoch
	answers := make([]int64, callers)
	p.together(func(i int, q player) {
		positions, err := q.h.Store.Keep(p.ctx, p.event, epoch, []driver.Ask{ask("ann", int64(i)+1)})
		steps.Named(err, "keep")
		answers[i] = positions[0]
	})
	if slices.Min(answers) != slices.Max(answers) {
		steps.Fail("callers at once have the positions %d of one member", answers)
	}
	p.kept("after callers at once", epoch, answers[:1], ask("ann", 0))
}

func membersOfCounters(p player) {
	epoch := p.take(9).Epoch
	other := p.of("show-11")
	p.kept("the first", epoch, []int64{3}, ask("ann", 3))
	other.kept("at another gate", other.turn(true).Epoch, []int64{0}, ask("ann", 0))
	p.lose()
	p.h.Move(time.Second) // so that the epoch differs
	epoch = p.turn(true).Epoch
	p.kept("with new counters", epoch, []int64{0}, ask("ann", 0))
	p.kept("the first of them", epoch, []int64{1}, ask("ann", 1))
}

func membersForADay(p player) {
	epoch := p.take(9).Epoch
	p.kept("the first", epoch, []int64{3}, ask("ann", 3))
	p.h.Move(driver.Kept - time.Second)
	p.kept("a second before its end", epoch, []int64{3}, ask("ann", 4))
	p.h.Move(2*driver.Kept + time.Hour) // the store may keep it a second day
	p.kept("days later", epoch, []int64{0}, ask("ann", 0))
	p.kept("a new one", epoch, []int64{6}, ask("ann", 6))
}

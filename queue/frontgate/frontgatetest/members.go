package frontgatetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

func memberCases() []testCase {
	return []testCase{
		{Name: "members-keep-their-first", Run: membersKeepTheirFirst},
		{Name: "members-over-callers", Run: membersOverCallers},
		{Name: "members-of-counters", Run: membersOfCounters},
		{Name: "members-for-a-day", Needs: []conformance.Need{NeedExpiry}, Run: membersForADay},
	}
}

// kept compares the positions that members have, for asks such as "ann" alone or with a position.
func (p player) kept(when string, epoch uint64, want []int64, asks ...driver.Ask) error {
	positions, err := p.h.Store.Keep(p.ctx, p.event, epoch, asks)
	if err != nil {
		return fmt.Errorf("%s: keep: %w", when, err)
	}
	if !slices.Equal(positions, want) {
		return fmt.Errorf("%s: the positions for %v are %d, want %d", when, asks, positions, want)
	}
	return nil
}

func ask(member string, position int64) driver.Ask {
	return driver.Ask{Member: member, Position: position}
}

// membersOf is a player whose gate has given 9 positions out, and the epoch of its counters.
func membersOf(ctx context.Context, h Harness) (player, uint64, error) {
	p, err := opened(ctx, h)
	if err != nil {
		return p, 0, err
	}
	s, err := h.Store.Assign(ctx, p.event, 9)
	return p, s.Epoch, err
}

func membersKeepTheirFirst(ctx context.Context, h Harness) error {
	p, epoch, err := membersOf(ctx, h)
	if err != nil {
		return err
	}
	return steps(
		func() error { return p.kept("before any", epoch, []int64{0, 0}, ask("ann", 0), ask("bob", 0)) },
		func() error { return p.kept("the first", epoch, []int64{3, 0}, ask("ann", 3), ask("bob", 0)) },
		func() error { return p.peer().kept("a second", epoch, []int64{3, 5}, ask("ann", 4), ask("bob", 5)) },
		func() error { return p.kept("one below", epoch, []int64{3}, ask("ann", 1)) },
		func() error {
			return p.kept("twice in a call", epoch, []int64{7, 7, 3}, ask("a:b/ü-2", 7), ask("a:b/ü-2", 7), ask("ann", 9))
		},
		func() error { _, err := p.turn(false); return err },
		func() error { return p.peer().kept("switched off", epoch, []int64{5, 3}, ask("bob", 0), ask("ann", 0)) },
	)
}

func membersOverCallers(ctx context.Context, h Harness) error {
	p, epoch, err := membersOf(ctx, h)
	if err != nil {
		return err
	}
	const callers = 8
	answers, failed := make([]int64, callers), make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		q := p
		if i%2 == 1 {
			q = p.peer()
		}
		all.Go(func() {
			positions, err := q.h.Store.Keep(ctx, p.event, epoch, []driver.Ask{ask("ann", int64(i)+1)})
			if failed[i] = err; err == nil {
				answers[i] = positions[0]
			}
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("keep: %w", err)
	}
	if slices.Min(answers) != slices.Max(answers) {
		return fmt.Errorf("callers at once have the positions %d of one member", answers)
	}
	return p.kept("after callers at once", epoch, answers[:1], ask("ann", 0))
}

func membersOfCounters(ctx context.Context, h Harness) error {
	p, epoch, err := membersOf(ctx, h)
	if err != nil {
		return err
	}
	other := p.of("show-11")
	return steps(
		func() error { return p.kept("the first", epoch, []int64{3}, ask("ann", 3)) },
		func() error {
			s, err := other.turn(true)
			if err != nil {
				return err
			}
			return other.kept("at another gate", s.Epoch, []int64{0}, ask("ann", 0))
		},
		func() error { return h.Lose(ctx) },
		func() error { h.Move(time.Second); return nil }, // so that the epoch differs
		func() error {
			s, err := p.turn(true)
			if err != nil {
				return err
			}
			return steps(
				func() error { return p.kept("with new counters", s.Epoch, []int64{0}, ask("ann", 0)) },
				func() error { return p.kept("the first of them", s.Epoch, []int64{1}, ask("ann", 1)) },
			)
		},
	)
}

func membersForADay(ctx context.Context, h Harness) error {
	p, epoch, err := membersOf(ctx, h)
	if err != nil {
		return err
	}
	return steps(
		func() error { return p.kept("the first", epoch, []int64{3}, ask("ann", 3)) },
		func() error { h.Move(driver.Kept - time.Second); return nil },
		func() error { return p.kept("a second before its end", epoch, []int64{3}, ask("ann", 4)) },
		func() error { h.Move(2*driver.Kept + time.Hour); return nil }, // the store may keep it a second day
		func() error { return p.kept("days later", epoch, []int64{0}, ask("ann", 0)) },
		func() error { return p.kept("a new one", epoch, []int64{6}, ask("ann", 6)) },
	)
}

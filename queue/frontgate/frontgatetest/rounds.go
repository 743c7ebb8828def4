package frontgatetest

import (
	"context"
	"fmt"
	"sync"
	"time"
)

func roundCases() []testCase {
	return []testCase{
		{Name: "never-past-assigned", Run: neverPastAssigned},
		{Name: "rounds-are-apart", Run: roundsAreApart},
		{Name: "rounds-over-callers", Run: roundsOverCallers},
		{Name: "empty-rounds-count", Run: emptyRoundsCount},
		{Name: "operators-rounds", Run: operatorsRounds},
		{Name: "clock-set-back", Run: clockSetBack},
	}
}

func neverPastAssigned(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	next := func(by, moved int64) func() error {
		return func() error {
			h.Move(every)
			r, err := p.round("one after another", by, every, moved)
			if err == nil && r.Serving > r.Assigned {
				err = fmt.Errorf("the serving counter is past the positions given out: %+v", r.State)
			}
			return err
		}
	}
	return steps(
		next(5, 0),
		func() error { return p.assign(12, 12) },
		next(5, 5), next(5, 5), next(5, 2), next(5, 0),
		func() error { return p.assign(3, 15) },
		next(1, 1), next(100, 2),
		func() error { _, err := p.round("by an operator", 100, 0, 0); return err },
	)
}

func roundsAreApart(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	if err := p.assign(1000, 1000); err != nil {
		return err
	}
	if _, err := p.round("the first", 10, every, 10); err != nil {
		return err
	}
	for range 3 {
		for _, wait := range []time.Duration{0, 4 * time.Second, every - 4*time.Second - time.Millisecond} {
			h.Move(wait)
			r, err := p.peer().round("too early", 10, every, 0)
			if err != nil {
				return err
			}
			if r.Next <= 0 || r.Next > every {
				return fmt.Errorf("too early: the next round is said to be in %s", r.Next)
			}
			// The announced time is exact: a round is made then, and not before. The
			// last wait leaves a millisecond.
			if wait == every-4*time.Second-time.Millisecond && r.Next != time.Millisecond {
				return fmt.Errorf("a millisecond before it, the next round is said to be in %s", r.Next)
			}
		}
		h.Move(time.Millisecond)
		r, err := p.round("in time", 10, every, 10)
		if err != nil {
			return err
		}
		if r.Next != every {
			return fmt.Errorf("after a round the next is said to be in %s, want %s", r.Next, every)
		}
	}
	return nil
}

func roundsOverCallers(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	if err := p.assign(100, 100); err != nil {
		return err
	}
	for round := int64(1); round <= 3; round++ {
		const callers = 8
		var all sync.WaitGroup
		moved, failed := make(chan int64, callers), make(chan error, callers)
		for i := range callers {
			store := h.Store
			if i%2 == 1 {
				store = h.Peer
			}
			all.Go(func() {
				r, err := store.Advance(ctx, p.event, 5, every)
				if err != nil {
					failed <- fmt.Errorf("advance: %w", err)
					return
				}
				moved <- r.Moved
			})
		}
		all.Wait()
		close(moved)
		select {
		case err := <-failed:
			return err
		default:
		}
		sum := int64(0)
		for m := range moved {
			sum += m
		}
		s, err := p.state()
		if err != nil {
			return err
		}
		if sum != 5 || s.Serving != 5*round {
			return fmt.Errorf("%d callers at once made rounds of 5 that raised by %d together, to %d in round %d", callers, sum, s.Serving, round)
		}
		h.Move(every)
	}
	return nil
}

func emptyRoundsCount(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	return steps(
		func() error { _, err := p.round("while nobody came", 5, every, 0); return err },
		func() error { return p.assign(20, 20) },
		func() error { _, err := p.round("right after an empty one", 5, every, 0); return err },
		func() error { h.Move(every); _, err := p.round("in time", 5, every, 5); return err },
	)
}

func operatorsRounds(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	round := func(when string, by int64, every time.Duration, moved int64) func() error {
		return func() error { _, err := p.round(when, by, every, moved); return err }
	}
	return steps(
		func() error { return p.assign(100, 100) },
		round("by an operator, first", 7, 0, 7),
		round("the first that is not", 5, every, 5),
		round("by an operator, in between", 7, 0, 7),
		round("by an operator, again", 7, 0, 7),
		round("too early", 5, every, 0),
		func() error { h.Move(every - time.Millisecond); return nil },
		round("by an operator, just before", 7, 0, 7),
		round("too early by a millisecond", 5, every, 0),
		func() error { h.Move(time.Millisecond); return nil },
		round("in time", 5, every, 5),
	)
}

func clockSetBack(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	return steps(
		func() error { return p.assign(100, 100) },
		func() error { _, err := p.round("the first", 5, every, 5); return err },
		func() error {
			h.Move(-time.Hour)
			_, err := p.round("with the clock an hour back", 5, every, 5)
			return err
		},
		func() error { _, err := p.round("right after it", 5, every, 0); return err },
		func() error { h.Move(every); _, err := p.round("in time", 5, every, 5); return err },
	)
}

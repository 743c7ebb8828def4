package frontgatetest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

func positionCases() []testCase {
	return []testCase{
		{Name: "off-by-default", Run: offByDefault},
		{Name: "positions-from-one", Run: positionsFromOne},
		{Name: "off-gives-none", Run: offGivesNone},
		{Name: "dense-over-callers", Run: denseOverCallers},
		{Name: "events-apart", Run: eventsApart},
		{Name: "events-are-listed", Run: eventsAreListed},
	}
}

func offByDefault(ctx context.Context, h Harness) error {
	p := play(ctx, h)
	nothing := func(when string, s driver.State, err error) error {
		if err == nil && !same(s, driver.State{}) {
			err = fmt.Errorf("%s, a gate that nobody switched on stands at %+v", when, s)
		}
		return err
	}
	return steps(
		func() error { s, err := p.state(); return nothing("at first", s, err) },
		func() error {
			s, err := h.Store.Assign(ctx, p.event, 1)
			return nothing("asked for a position", s, err)
		},
		func() error {
			r, err := p.round("while it never was on", 5, every, 0)
			return nothing("after a round", r.State, err)
		},
		func() error { s, err := p.turn(false); return nothing("switched off", s, err) },
		func() error { s, err := p.state(); return nothing("after all that", s, err) },
		func() error { return p.listed() },
	)
}

func positionsFromOne(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	return steps(
		func() error { return p.assign(1, 1) },
		func() error { return p.peer().assign(5, 6) },
		func() error { return p.assign(driver.MaxAssign, 6+driver.MaxAssign) },
	)
}

func offGivesNone(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	if err := p.assign(3, 3); err != nil {
		return err
	}
	off, err := p.turn(false)
	if err != nil {
		return err
	}
	for range 2 {
		s, err := h.Peer.Assign(ctx, p.event, 2)
		if err != nil {
			return fmt.Errorf("assign: %w", err)
		}
		if s.On || !same(s, off) {
			return fmt.Errorf("positions are given out while the gate is off: %+v, and before %+v", s, off)
		}
	}
	return p.expect("after assigning while off", off, func(s driver.State) bool { return s.Assigned == 3 })
}

func denseOverCallers(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	const callers, calls = 8, 12
	var mu sync.Mutex
	var given []int64
	var all sync.WaitGroup
	failed := make(chan error, callers)
	for i := range callers {
		store := h.Store
		if i%2 == 1 {
			store = h.Peer
		}
		all.Go(func() {
			for call := range calls {
				n := 1 + (i+call)%4
				s, err := store.Assign(ctx, p.event, n)
				if err != nil {
					failed <- fmt.Errorf("assign: %w", err)
					return
				}
				mu.Lock()
				for one := s.Assigned - int64(n) + 1; one <= s.Assigned; one++ {
					given = append(given, one)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	slices.Sort(given)
	for i, one := range given {
		if one != int64(i)+1 {
			return fmt.Errorf("of %d positions given out at once, the %d. in order is %d", len(given), i+1, one)
		}
	}
	return nil
}

func eventsApart(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	other := p.of("show-11")
	return steps(
		func() error { return p.assign(4, 4) },
		func() error {
			s, err := other.state()
			if err == nil && !same(s, driver.State{}) {
				err = fmt.Errorf("the gate of another event stands at %+v", s)
			}
			return err
		},
		func() error { _, err := other.turn(true); return err },
		func() error { return other.assign(1, 1) },
		func() error { _, err := other.round("of another event", 5, every, 1); return err },
		func() error { _, err := p.round("of the first", 3, every, 3); return err },
		func() error { _, err := other.turn(false); return err },
		func() error { return p.assign(1, 5) },
	)
}

func eventsAreListed(ctx context.Context, h Harness) error {
	p := play(ctx, h)
	second := p.of("a:b/ü-2")
	return steps(
		func() error { return p.listed() },
		func() error { _, err := p.turn(true); return err },
		func() error { return p.listed(p.event) },
		func() error { _, err := second.peer().turn(true); return err },
		func() error { return p.listed(p.event, second.event) },
		func() error { _, err := p.turn(false); return err },
		func() error { return p.listed(p.event, second.event) },
		func() error { return h.Lose(ctx) },
		func() error { return p.listed() },
	)
}

// listed compares the events of both processes.
func (p player) listed(want ...string) error {
	for _, store := range []driver.Store{p.h.Store, p.h.Peer} {
		events, err := store.Events(p.ctx)
		if err != nil {
			return fmt.Errorf("events: %w", err)
		}
		got := slices.Sorted(slices.Values(events))
		if !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			return fmt.Errorf("the events are %q, want %q", got, want)
		}
	}
	return nil
}

package frontgatetest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

func switchCases() []testCase {
	return []testCase{
		{Name: "off-admits-holders", Run: offAdmitsHolders},
		{Name: "on-again-goes-on", Run: onAgainGoesOn},
		{Name: "switching-twice", Run: switchingTwice},
		{Name: "many-switch-on", Run: manySwitchOn},
	}
}

func offAdmitsHolders(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	if err := p.assign(30, 30); err != nil {
		return err
	}
	if _, err := p.round("before", 5, every, 5); err != nil {
		return err
	}
	off, err := p.turn(false)
	if err != nil {
		return err
	}
	right := func(s driver.State) bool { return !s.On && s.Assigned == 30 && s.Serving == 30 }
	if err := p.expect("switched off with 30 positions given out", off, right); err != nil {
		return err
	}
	h.Move(every)
	r, err := p.round("while off", 5, every, 0)
	if err == nil && !same(r.State, off) {
		err = fmt.Errorf("a round of a gate that is off changed %+v to %+v", off, r.State)
	}
	return err
}

func onAgainGoesOn(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	first, err := p.state()
	if err != nil {
		return err
	}
	given := int64(0)
	for range 3 {
		if err := p.assign(10, given+10); err != nil {
			return err
		}
		given += 10
		if _, err := p.turn(false); err != nil {
			return err
		}
		h.Move(every)
		again, err := p.peer().turn(true)
		if err != nil {
			return err
		}
		right := func(s driver.State) bool {
			return s.On && s.Epoch == first.Epoch && s.Assigned == given && s.Serving == given && s.Opened == given
		}
		if err := p.expect(fmt.Sprintf("switched off and on again after %d positions of epoch %d", given, first.Epoch), again, right); err != nil {
			return err
		}
	}
	return nil
}

func switchingTwice(ctx context.Context, h Harness) error {
	p, err := opened(ctx, h)
	if err != nil {
		return err
	}
	if err := p.assign(10, 10); err != nil {
		return err
	}
	before, err := p.state()
	if err != nil {
		return err
	}
	h.Move(every)
	on, err := p.peer().turn(true)
	if err != nil {
		return err
	}
	if err := p.expect(fmt.Sprintf("switched on while on at %+v", before), on, func(s driver.State) bool { return same(s, before) }); err != nil {
		return err
	}
	off, err := p.turn(false)
	if err != nil {
		return err
	}
	h.Move(every)
	again, err := p.peer().turn(false)
	if err != nil {
		return err
	}
	return p.expect(fmt.Sprintf("switched off while off at %+v", off), again, func(s driver.State) bool { return same(s, off) })
}

// manySwitchOn lets many callers switch a gate on and take a position: no caller
// begins new counters over those of another.
func manySwitchOn(ctx context.Context, h Harness) error {
	p := play(ctx, h)
	const callers = 8
	var all sync.WaitGroup
	var mu sync.Mutex
	var given []int64
	epochs, failed := map[uint64]bool{}, make(chan error, callers)
	for i := range callers {
		q := p
		if i%2 == 1 {
			q = p.peer()
		}
		all.Go(func() {
			s, err := q.turn(true)
			if err == nil {
				s, err = q.h.Store.Assign(ctx, q.event, 1)
			}
			if err != nil {
				failed <- err
				return
			}
			mu.Lock()
			defer mu.Unlock()
			epochs[s.Epoch], given = true, append(given, s.Assigned)
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	slices.Sort(given)
	if want := []int64{1, 2, 3, 4, 5, 6, 7, 8}; len(epochs) != 1 || !slices.Equal(given, want) {
		return fmt.Errorf("%d switched the gate on and took a position each: %d epochs, positions %v", callers, len(epochs), given)
	}
	return nil
}

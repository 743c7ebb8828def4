package frontgatetest

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// player plays the processes of an event on a harness.
type player struct {
	ctx   context.Context
	h     Harness
	event string
}

func play(ctx context.Context, h Harness) player { return player{ctx, h, h.Prefix + "show-1"} }

// opened is a player whose gate is switched on.
func opened(ctx context.Context, h Harness) (player, error) {
	p := play(ctx, h)
	s, err := p.turn(true)
	if err == nil && (!s.On || s.Epoch == 0 || s.Assigned != 0 || s.Serving != 0 || s.Opened != 0) {
		err = fmt.Errorf("a gate that was switched on for the first time stands at %+v", s)
	}
	return p, err
}

func (p player) of(event string) player {
	p.event = p.h.Prefix + event
	return p
}

func (p player) peer() player {
	p.h.Store = p.h.Peer
	return p
}

func (p player) turn(on bool) (driver.State, error) {
	s, err := p.h.Store.Switch(p.ctx, p.event, on)
	if err != nil {
		return s, fmt.Errorf("switch %t: %w", on, err)
	}
	return s, nil
}

func (p player) state() (driver.State, error) {
	s, err := p.h.Store.State(p.ctx, p.event)
	if err != nil {
		return s, fmt.Errorf("state: %w", err)
	}
	return s, nil
}

// assign takes n positions and compares them.
func (p player) assign(n int, last int64) error {
	s, err := p.h.Store.Assign(p.ctx, p.event, n)
	switch {
	case err != nil:
		return fmt.Errorf("assign: %w", err)
	case !s.On:
		return fmt.Errorf("no position is given out although the gate is on: %+v", s)
	case s.Assigned != last:
		return fmt.Errorf("the last of %d positions is %d, want %d", n, s.Assigned, last)
	}
	return p.expect("after assigning", s, func(now driver.State) bool { return now.Assigned == last })
}

// expect checks an answer, and compares it with the store's state and its peer's.
func (p player) expect(when string, answer driver.State, right func(driver.State) bool) error {
	for _, q := range []player{p, p.peer()} {
		now, err := q.state()
		if err != nil {
			return err
		}
		if !same(now, answer) {
			return fmt.Errorf("%s: the answer is %+v, and then the state is %+v", when, answer, now)
		}
	}
	if !right(answer) {
		return fmt.Errorf("%s: %+v", when, answer)
	}
	return nil
}

// same compares all fields but the clock, which may have run on.
func same(a, b driver.State) bool {
	a.Now, b.Now = time.Time{}, time.Time{}
	return a == b
}

const every = 10 * time.Second

// round makes a round and compares how far it raised the counter.
func (p player) round(when string, by int64, every time.Duration, moved int64) (driver.Round, error) {
	r, err := p.h.Store.Advance(p.ctx, p.event, by, every)
	switch {
	case err != nil:
		return r, fmt.Errorf("%s: advance: %w", when, err)
	case r.Moved != moved:
		return r, fmt.Errorf("%s: a round of %d raised the serving counter by %d to %+v, want %d", when, by, r.Moved, r.State, moved)
	}
	return r, p.expect(when, r.State, func(driver.State) bool { return true })
}

// steps runs its steps in order until one fails.
func steps(all ...func() error) error {
	for _, step := range all {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

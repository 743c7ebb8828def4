package frontgatetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// player plays the processes of an event on a harness.
type player struct {
	ctx   context.Context
	h     Harness
	event string
}

// play makes a case of steps.
func play(do func(p player)) func(context.Context, Harness) error {
	return func(ctx context.Context, h Harness) error {
		return steps.Try(func() { do(player{ctx, h, h.Prefix + "show-1"}) })
	}
}

// opened makes a case of steps on a gate that is switched on.
func opened(do func(p player)) func(context.Context, Harness) error {
	return play(func(p player) {
		if s := p.turn(true); !s.On || s.Epoch == 0 || s.Assigned != 0 || s.Serving != 0 || s.Opened != 0 {
			steps.Fail("a gate that was switched on for the first time stands at %+v", s)
		}
		do(p)
	})
}

func (p player) of(event string) player {
	p.event = p.h.Prefix + event
	return p
}

func (p player) peer() player {
	p.h.Store = p.h.Peer
	return p
}

// callers is the number of calls at once.
const callers = 8

// together makes calls at once, of which every second one is of the peer.
func (p player) together(call func(i int, q player)) {
	errs := make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		q := p
		if i%2 == 1 {
			q = p.peer()
		}
		all.Go(func() { errs[i] = steps.Try(func() { call(i, q) }) })
	}
	all.Wait()
	steps.Do(errors.Join(errs...))
}

func (p player) turn(on bool) driver.State {
	s, err := p.h.Store.Switch(p.ctx, p.event, on)
	steps.Named(err, "switch %t", on)
	return s
}

func (p player) state() driver.State {
	s, err := p.h.Store.State(p.ctx, p.event)
	steps.Named(err, "state")
	return s
}

func (p player) lose() {
	steps.Named(p.h.Lose(p.ctx), "lose")
}

// take takes n positions.
func (p player) take(n int) driver.State {
	s, err := p.h.Store.Assign(p.ctx, p.event, n)
	steps.Named(err, "assign")
	return s
}

// assign takes n positions and compares them.
func (p player) assign(n int, last int64) {
	s := p.take(n)
	switch {
	case !s.On:
		steps.Fail("no position is given out although the gate is on: %+v", s)
	case s.Assigned != last:
		steps.Fail("the last of %d positions is %d, want %d", n, s.Assigned, last)
	}
	p.shows("after assigning", s)
}

// shows compares an answer with the store's state and its peer's.
func (p player) shows(when string, answer driver.State) {
	for _, q := range []player{p, p.peer()} {
		now := q.state()
		if !same(now, answer) {
			steps.Fail("%s: the answer is %+v, and then the state is %+v", when, answer, now)
		}
	}
}

// expect checks an answer, and compares it with the store's state and its peer's.
func (p player) expect(when string, answer driver.State, right func(driver.State) bool) {
	p.shows(when, answer)
	if !right(answer) {
		steps.Fail("%s: %+v", when, answer)
	}
}

// same compares all fields but the clock, which may have run on.
func same(a, b driver.State) bool {
	a.Now, b.Now = time.Time{}, time.Time{}
	return a == b
}

const every = 10 * time.Second

func (p player) advance(by int64, every time.Duration) driver.Round {
	r, err := p.h.Store.Advance(p.ctx, p.event, by, every)
	steps.Named(err, "advance")
	return r
}

// round makes a round and compares how far it raised the counter.
func (p player) round(when string, by int64, every time.Duration, moved int64) (r driver.Round) {
	steps.Within(when, func() {
		r = p.advance(by, every)
		if r.Moved != moved {
			steps.Fail("a round of %d raised the serving counter by %d to %+v, want %d", by, r.Moved, r.State, moved)
		}
	})
	p.shows(when, r.State)
	return r
}

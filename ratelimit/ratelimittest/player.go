package ratelimittest

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// player acts as one process on a harness.
type player struct {
	ctx  context.Context
	h    Harness
	plan *driver.Plan
}

// limits are used by most cases: 450 per second, 350 for low, bursts of 40 and 31.
var limits = ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350}

// strict is the same in strict mode, with numbers small enough to count.
var strict = ratelimit.Limits{HardLimit: 50, Rate: 40, LowRate: 30, Strict: true}

func newPlayer(ctx context.Context, h Harness, l ratelimit.Limits) (*player, error) {
	plan, err := l.Plan()
	if err != nil {
		return nil, err
	}
	return &player{ctx, h, plan}, nil
}

// full is newPlayer on a state that had time to fill up.
func full(ctx context.Context, h Harness, l ratelimit.Limits) (*player, error) {
	p, err := newPlayer(ctx, h, l)
	if err != nil {
		return nil, err
	}
	return p, p.fill()
}

func (p *player) fill() error {
	if _, err := p.ask(driver.Run{Priority: driver.Low, Size: 1, Count: 1}); err != nil {
		return err
	}
	p.h.Move(time.Hour)
	return nil
}

func (p *player) ask(runs ...driver.Run) (driver.Grant, error) {
	return p.askSeen(driver.DayCount{}, runs...)
}

func (p *player) askSeen(day driver.DayCount, runs ...driver.Run) (driver.Grant, error) {
	g, err := p.h.Store.Acquire(p.ctx, p.plan, driver.Ask{Runs: runs, Day: day})
	if err != nil {
		return g, fmt.Errorf("acquire: %w", err)
	}
	if len(g.Runs) != len(runs) {
		return g, fmt.Errorf("%d answers to %d runs", len(g.Runs), len(runs))
	}
	for i, r := range g.Runs {
		refused := r.Granted < runs[i].Count
		if r.Granted < 0 || r.Granted > runs[i].Count || refused != (r.Reason != "") || refused != (r.RetryAfter > 0) {
			return g, fmt.Errorf("%d calls of size %d were answered %+v", runs[i].Count, runs[i].Size, r)
		}
	}
	return g, nil
}

// take asks for single calls and returns how many were granted.
func (p *player) take(priority driver.Priority, count int) (int, error) {
	g, err := p.ask(driver.Run{Priority: priority, Size: 1, Count: count})
	if err != nil {
		return 0, err
	}
	return g.Runs[0].Granted, nil
}

// expect takes calls and compares their number.
func (p *player) expect(when string, priority driver.Priority, count, want int) error {
	got, err := p.take(priority, count)
	if err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	if got != want {
		return fmt.Errorf("%s: %d of %d %s calls were granted, want %d", when, got, count, priority, want)
	}
	return nil
}

// remains compares the remaining calls, by asking for more than there can be.
func (p *player) remains(when string, low, high int) error {
	g, err := p.ask(driver.Run{Priority: driver.High, Size: p.plan.Burst, Count: 1})
	if err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	if g.Runs[0].Granted > 0 {
		g.Remaining[driver.High] += p.plan.Burst
		g.Remaining[driver.Low] = low // the call took the calls of low
	}
	if g.Remaining != [2]int{low, high} {
		return fmt.Errorf("%s: %d remain for low and %d for high, want %d and %d", when, g.Remaining[0], g.Remaining[1], low, high)
	}
	return nil
}

// one is a single call.
func one(p driver.Priority) driver.Run {
	return driver.Run{Priority: p, Size: 1, Count: 1}
}

// waiting is a single call of high priority that waits.
var waiting = driver.Run{Priority: driver.High, Size: 1, Count: 1, Wait: true}

// inTurn runs steps in order until one fails.
func inTurn(all ...func() error) error {
	for _, step := range all {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// exact checks that a call is refused until just before its retry time, and granted then.
func (p *player) exact(r driver.Run) error {
	r.Count = 1
	g, err := p.ask(r)
	if err != nil || g.Runs[0].Granted == 1 {
		return err
	}
	wait := g.Runs[0].RetryAfter
	p.h.Move(wait - time.Microsecond)
	if g, err = p.ask(r); err != nil {
		return err
	}
	if g.Runs[0].Granted != 0 {
		return fmt.Errorf("%+v was to be tried again in %s, and is granted 1 µs before", r, wait)
	}
	p.h.Move(time.Microsecond)
	again := g.Runs[0]
	if g, err = p.ask(r); err != nil {
		return err
	}
	if g.Runs[0].Granted != 1 || !r.Wait && again.RetryAfter != time.Microsecond {
		return fmt.Errorf("%+v was to be tried again in %s, 1 µs before that in %s, and is then answered %+v", r, wait, again.RetryAfter, g.Runs[0])
	}
	return nil
}

package ratelimittest

import (
	"context"
	"errors"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// clockStepsAreCovered sets the clock forward, at most once within a second plus the delay: the
// arithmetic includes the burst that this step creates.
func clockStepsAreCovered(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{
		{HardLimit: 500, Rate: 450, LowRate: 350, Processes: 1, ClockSteps: true},
		{HardLimit: 100, Rate: 40, LowRate: 30, Processes: 3, ClockSteps: true},
	} {
		p := steps.Get(full(ctx, h, l))
		r, hist, stepped := random(uint64(l.Rate)), &history{p: p}, -p.plan.Window
		for range 300 {
			hist.pass(time.Duration(r.IntN(20_000)) * time.Microsecond)
			if hist.now-stepped >= p.plan.Window && r.IntN(5) == 0 {
				h.Move(time.Duration(1+r.IntN(5*3600)) * time.Second)
				stepped = hist.now
			}
			steps.Do(hist.take(driver.Run{Priority: driver.Priority(r.IntN(2)), Size: 1, Count: 1 + r.IntN(4*p.plan.Burst)}))
			steps.Do(hist.maybeReturn())
		}
		lows := 2*p.plan.LowBurst + refilled(p.plan.LowRate, p.plan.Window)
		steps.Named(hist.within(p.plan.Window, [2]int{lows, l.HardLimit - l.Processes}), "%+v", l)
	}
	return nil
}

// refilled returns the refill within a span, rounded up.
func refilled(rate int, span time.Duration) int {
	return int((int64(rate)*span.Microseconds() + 999_999) / 1_000_000)
}

// take uses the granted calls of a run.
func (h *history) take(run driver.Run) error {
	g, err := h.p.ask(run)
	if err != nil {
		return err
	}
	for range g.Runs[0].Granted {
		h.uses = append(h.uses, use{h.now, run.Priority, run.Size, g.At})
	}
	return nil
}

// limitsThatChange has processes with different limits share the state, as during a deploy:
// together they have the highest burst and the highest rate.
func limitsThatChange(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	before, after := limits, ratelimit.Limits{HardLimit: 500, Rate: 200, LowRate: 190, Burst: 120, LowBurst: 20}
	p := steps.Get(full(ctx, h, before))
	q := steps.Get(newPlayer(ctx, h, after))
	r, hist := random(1), &history{p: p}
	for range 500 {
		hist.pass(time.Duration(r.IntN(20_000)) * time.Microsecond)
		if r.IntN(50) == 0 {
			hist.pass(time.Second)
		}
		hist.p = [2]*player{p, q}[r.IntN(2)]
		steps.Do(hist.take(driver.Run{Priority: driver.Priority(r.IntN(2)), Size: 1, Count: 1 + r.IntN(20)}))
	}
	return errors.Join(
		hist.covered(max(p.plan.Rate, q.plan.Rate), max(p.plan.Burst, q.plan.Burst), low, high),
		hist.covered(max(p.plan.LowRate, q.plan.LowRate), max(p.plan.LowBurst, q.plan.LowBurst), low),
	)
}

// strictLimitsThatChange lowers the rate, which takes effect at once, and raises it, which
// blocks for a window.
func strictLimitsThatChange(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	p := steps.Get(full(ctx, h, strict))
	less, more := strict, strict
	less.Rate, less.LowRate, more.Rate, more.HardLimit = 25, 20, 60, 100
	fewer := steps.Get(newPlayer(ctx, h, less))
	many := steps.Get(newPlayer(ctx, h, more))
	return inTurn(
		func() error { return p.expect("at first", high, 1000, 40) },
		func() error { return fewer.expect("with a lower rate", high, 1, 0) },
		func() error { h.Move(p.plan.Window); return fewer.expect("a window later", high, 1000, 25) },
		func() error { return p.expect("who has not heard of it", high, 1000, 15) },
		func() error { h.Move(p.plan.Window / 2); return many.expect("with a higher rate", high, 1, 0) },
		func() error { return p.expect("then", high, 1, 0) },
		func() error { return many.exact(one(high)) },
		func() error { return many.expect("a window later", high, 1000, 59) },
		func() error { return p.expect("with the rate of before", high, 1, 0) },
		func() error { h.Move(p.plan.Window); return p.expect("a window later", high, 1000, 40) },
		func() error { return many.expect("the rest", high, 1000, 20) },
		func() error { h.Move(p.plan.Window); return many.expect("all of it", high, 1000, 60) },
	)
}

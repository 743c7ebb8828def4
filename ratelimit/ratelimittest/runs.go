package ratelimittest

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

func runCases() []testCase {
	return []testCase{
		{Name: "runs-are-calls", Run: runsAreCalls},
		{Name: "remaining-is-exact", Run: remainingIsExact},
		{Name: "yield", Run: yields},
		{Name: "yield-only-for-who-waits", Run: yieldsOnlyForWhoWaits},
	}
}

// runsAreCalls gives the same runs at once and one call after the other.
func runsAreCalls(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{limits, strict, daily(limits), daily(strict)} {
		for seed := range uint64(8) {
			r := random(seed)
			runs := make([]driver.Run, 1+r.IntN(5))
			for i := range runs {
				runs[i] = driver.Run{Priority: driver.Priority(r.IntN(2)), Size: 1 + r.IntN(4), Count: 1 + r.IntN(12), Wait: r.IntN(2) == 0}
			}
			begin := func() (*player, error) {
				if err := h.Lose(ctx); err != nil {
					return nil, err
				}
				return full(ctx, h, l)
			}
			p := steps.Get(begin())
			together := steps.Get(p.ask(runs...))
			if p, err = begin(); err != nil {
				return err
			}
			for i, run := range runs {
				var alone driver.RunGrant
				count := run.Count
				run.Count = 1
				var g driver.Grant
				for range count {
					if g, err = p.ask(run); err != nil {
						return err
					}
					alone.Granted += g.Runs[0].Granted
					alone.Reason, alone.RetryAfter = g.Runs[0].Reason, g.Runs[0].RetryAfter
				}
				got := together.Runs[i]
				if got.Reason == driver.ReasonDay {
					got.RetryAfter = alone.RetryAfter // the day ends an hour later for the first
				}
				if got != alone {
					return fmt.Errorf("run %d of %+v is answered %+v, and its calls alone %+v", i, runs, together.Runs[i], alone)
				}
				if i == len(runs)-1 && g.Remaining != together.Remaining {
					return fmt.Errorf("after %+v there remain %v, and after its calls %v", runs, together.Remaining, g.Remaining)
				}
			}
		}
	}
	return nil
}

// remainingIsExact takes the remaining calls, and one more.
func remainingIsExact(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{limits, strict, daily(limits)} {
		p := steps.Get(full(ctx, h, l))
		r := random(7)
		for i := range 60 {
			priority := driver.Priority(i % 2)
			g := steps.Get(p.ask(driver.Run{Priority: driver.Priority(r.IntN(2)), Size: 1 + r.IntN(3), Count: 1 + r.IntN(9), Wait: r.IntN(2) == 0}))
			n := g.Remaining[priority]
			steps.Do(p.expect(fmt.Sprintf("%+v, call %d, %d remain", l, i, n), priority, n+1, n))
			h.Move(time.Duration(r.IntN(int(p.plan.Window))).Truncate(time.Microsecond))
		}
	}
	return nil
}

// yields checks that low yields to a waiting call of high priority until that call is granted
// or its caller has left. Low has no share that is exempt from the yield.
func yields(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{sharing(limits, 0), sharing(strict, 0)} {
		p := steps.Get(full(ctx, h, l))
		if p.plan.Strict { // a place becomes free each 5 ms
			for range 10 {
				if err := p.expect("spread", high, 1, 1); err != nil {
					return err
				}
				h.Move(5 * time.Millisecond)
			}
		}
		steps.Do(p.expect("drain", high, 1000, p.plan.Burst-drained(p)))
		if p.plan.Strict {
			h.Move(p.plan.Window - 51*time.Millisecond)
		}
		wait := func() (time.Duration, error) {
			g, err := p.ask(waiting)
			if err == nil && g.Runs[0].Reason != driver.ReasonGlobal {
				err = fmt.Errorf("a call that waits is answered %+v, want a refusal for %q", g.Runs[0], driver.ReasonGlobal)
			}
			return g.Runs[0].RetryAfter, err
		}
		lowIs := func(when string, reason driver.Reason) error {
			g, err := p.ask(one(low))
			if err == nil && (g.Runs[0].Reason != reason || reason != "" && g.Remaining[low] != 0) {
				err = fmt.Errorf("%s: low is answered %+v with %d remaining, want %q", when, g.Runs[0], g.Remaining[low], reason)
			}
			return err
		}
		next, err := wait()
		if err != nil {
			return fmt.Errorf("strict %t: %w", p.plan.Strict, err)
		}
		h.Move(next)
		if err := inTurn(
			func() error { return lowIs("while high waits", driver.ReasonYield) },
			func() error {
				g, err := p.ask(waiting)
				if err == nil && g.Runs[0].Granted != 1 {
					err = fmt.Errorf("what low left is not given to high: %+v", g.Runs[0])
				}
				return err
			},
			func() error { h.Move(8 * time.Millisecond); return lowIs("when high was granted", "") },
			func() error { _, err := p.take(high, 1000); return err },
			func() error { next, err = wait(); return err },
			func() error {
				h.Move(p.plan.Yield - time.Microsecond)
				return lowIs("just before it is over", driver.ReasonYield)
			},
			func() error { h.Move(time.Microsecond); return lowIs("when high has gone away", "") },
		); err != nil {
			return fmt.Errorf("strict %t: %w", p.plan.Strict, err)
		}
	}
	return nil
}

// drained returns the number of calls that yields has used before.
func drained(p *player) int {
	if p.plan.Strict {
		return 10
	}
	return 0
}

func yieldsOnlyForWhoWaits(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	l := sharing(limits, 0)
	l.DayLimit = 60
	p := steps.Get(full(ctx, h, l))
	return inTurn(
		func() error { return p.midnight() },
		func() error { return p.expect("drain", high, 1000, p.plan.Burst) },
		func() error { return p.expect("who does not wait", high, 1, 0) },
		func() error { h.Move(10 * time.Millisecond); return p.expect("low after that", low, 1, 1) },
		func() error {
			h.Move(time.Second)
			return p.expect("the rest of the day", high, 60-p.plan.Burst-2, 60-p.plan.Burst-2)
		},
		func() error {
			g, err := p.ask(driver.Run{Priority: high, Size: 2, Count: 1, Wait: true})
			if err == nil && g.Runs[0].Reason != driver.ReasonDay {
				err = fmt.Errorf("the day is over, and the answer %+v", g.Runs[0])
			}
			return err
		},
		func() error { return p.expect("low is not held up by who waits for the next day", low, 1, 1) },
	)
}

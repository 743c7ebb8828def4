package ratelimittest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

const (
	low  = driver.Low
	high = driver.High
)

func bucketCases() []testCase {
	return []testCase{
		{Name: "missing-is-empty", Run: missingIsEmpty},
		{Name: "burst-is-the-most", Run: burstIsTheMost},
		{Name: "refill", Run: refill},
		{Name: "low-leaves-the-reserve", Run: lowLeavesTheReserve},
		{Name: "refused-low-costs-nothing", Run: refusedLowCostsNothing},
		{Name: "another-server", Needs: []conformance.Need{NeedRestart}, Run: anotherServer},
	}
}

func missingIsEmpty(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	p := steps.Get(newPlayer(ctx, h, limits))
	return inTurn(
		func() error { return p.expect("at first", high, 1, 0) },
		func() error { return p.fill() },
		func() error { return p.expect("full", high, 1, 1) },
		func() error { return h.Lose(ctx) },
		func() error { return p.expect("after a loss", high, 1, 0) },
		func() error { h.Move(100 * time.Millisecond); return p.expect("100 ms later", high, 100, 40) },
		func() error { return p.fill() },
		func() error { return h.Lose(ctx) },
		func() error { return p.expect("low after a loss", low, 1, 0) },
		func() error { h.Move(20 * time.Millisecond); return p.expect("low 20 ms later", low, 100, 7) },
	)
}

func burstIsTheMost(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	p := steps.Get(full(ctx, h, limits))
	return inTurn(
		func() error { return p.remains("after an hour", p.plan.LowBurst, p.plan.Burst) },
		func() error { return p.expect("then", high, 100, 0) },
		func() error { h.Move(time.Hour); return p.expect("an hour later", low, 100, p.plan.LowBurst) },
		func() error {
			h.Move(time.Hour)
			g, err := p.ask(driver.Run{Priority: high, Size: 7, Count: 1000})
			if want := p.plan.Burst / 7; err == nil && g.Runs[0].Granted != want {
				err = fmt.Errorf("%d calls of size 7 were granted of %d, want %d", g.Runs[0].Granted, p.plan.Burst, want)
			}
			return err
		},
	)
}

// refill counts the refill, which is never rounded up.
func refill(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	p := steps.Get(full(ctx, h, limits))
	steps.Do(p.expect("full", high, 1000, p.plan.Burst))
	got := 0
	for range 500 {
		h.Move(777 * time.Microsecond)
		n := steps.Get(p.take(high, 10))
		got += n
	}
	if want := 500 * 777 * p.plan.Rate / 1_000_000; got != want {
		return fmt.Errorf("%d calls were granted in 500 * 777 µs at %d per second, want %d", got, p.plan.Rate, want)
	}
	return nil
}

func lowLeavesTheReserve(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	p := steps.Get(full(ctx, h, limits))
	steps.Do(p.expect("a flood of low", low, 5000, p.plan.LowBurst))
	steps.Do(p.expect("high after it", high, 5000, p.plan.Burst-p.plan.LowBurst))
	// In the long run low gets its rate, and high the difference.
	var got [2]int
	for range 1000 {
		h.Move(time.Millisecond)
		g := steps.Get(p.ask(driver.Run{Priority: low, Size: 1, Count: 5}, driver.Run{Priority: high, Size: 1, Count: 5}))
		got[low] += g.Runs[0].Granted
		got[high] += g.Runs[1].Granted
	}
	if got[low] != p.plan.LowRate || got[high] != p.plan.Rate-p.plan.LowRate {
		return fmt.Errorf("in a second %d low and %d high calls were granted, want %d and %d", got[low], got[high], p.plan.LowRate, p.plan.Rate-p.plan.LowRate)
	}
	return nil
}

func refusedLowCostsNothing(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	p := steps.Get(full(ctx, h, limits))
	return inTurn(
		func() error { return p.expect("low", low, p.plan.LowBurst, p.plan.LowBurst) },
		func() error {
			for range 100 {
				if err := p.expect("low beyond its cap", low, 100, 0); err != nil {
					return err
				}
			}
			return nil
		},
		func() error { return p.expect("high", high, 1000, p.plan.Burst-p.plan.LowBurst) },
		// And the other way round: a refusal by the global bucket does not charge the low cap.
		func() error { h.Move(time.Hour); return p.expect("high", high, 1000, p.plan.Burst) },
		func() error {
			for range 100 {
				if err := p.expect("low without global", low, 1, 0); err != nil {
					return err
				}
			}
			g, err := p.ask(one(low))
			if err == nil && g.Runs[0].Reason != driver.ReasonGlobal {
				err = fmt.Errorf("low is refused for %q, want %q", g.Runs[0].Reason, driver.ReasonGlobal)
			}
			return err
		},
		func() error { h.Move(time.Duration(p.plan.LowBurst) * 2300 * time.Microsecond); return nil },
		func() error { return p.expect("low", low, 1000, p.plan.LowBurst) },
	)
}

func anotherServer(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{limits, strict} {
		p := steps.Get(full(ctx, h, l))
		if err := inTurn(
			func() error { return p.expect("full", high, 1, 1) },
			func() error { return h.Restart(ctx) },
			func() error { return p.expect("on another server", high, 1, 0) },
			func() error { h.Move(p.plan.Window); return p.expect("later", high, 100, p.plan.Burst) },
		); err != nil {
			return fmt.Errorf("strict %t: %w", p.plan.Strict, err)
		}
	}
	return nil
}

func strictCases() []testCase {
	return []testCase{
		{Name: "strict-missing-blocks", Run: strictMissingBlocks},
		{Name: "strict-window-is-exact", Run: strictWindowIsExact},
		{Name: "strict-low", Run: strictLow},
	}
}

func strictMissingBlocks(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	p := steps.Get(newPlayer(ctx, h, strict))
	for _, when := range []string{"at first", "after a loss"} {
		if err := inTurn(
			func() error { return p.expect(when, high, 1, 0) },
			func() error { return p.expect(when+", again", high, 1, 0) },
			func() error { return p.exact(one(high)) },
			func() error { return p.expect(when+", a window later", high, 100, p.plan.Rate-1) },
			func() error { return h.Lose(ctx) },
		); err != nil {
			return err
		}
	}
	return nil
}

// strictWindowIsExact takes calls at odd times; each becomes free exactly one window later.
func strictWindowIsExact(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	p := steps.Get(full(ctx, h, strict))
	const step = 7 * time.Millisecond
	sizes := []int{5, 1, 9, 2, 3, 1, 1, 8, 10} // 40
	// The last of them wraps around the end of a ring of 40 that begins with 7 others.
	steps.Do(p.expect("others", high, 7, 7))
	h.Move(p.plan.Window)
	for i, n := range sizes {
		steps.Do(p.expect(fmt.Sprint("part ", i), high, n, n))
		h.Move(step)
	}
	steps.Do(p.expect("a full window", high, 1, 0))
	h.Move(p.plan.Window - time.Duration(len(sizes))*step)
	// Three times around the ring.
	for round := range 3 {
		for i, n := range sizes {
			h.Move(-time.Microsecond)
			steps.Do(p.expect(fmt.Sprint("round ", round, ", just before part ", i), high, 1, 0))
			h.Move(time.Microsecond)
			steps.Do(p.expect(fmt.Sprint("round ", round, ", at part ", i), high, 100, n))
			h.Move(step)
		}
		h.Move(p.plan.Window - time.Duration(len(sizes))*step)
	}
	return nil
}

func strictLow(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	p := steps.Get(full(ctx, h, strict))
	reason := func(priority driver.Priority, want driver.Reason) error {
		g := steps.Get(p.ask(one(priority)))
		if got := g.Runs[0]; got.Granted != 0 || got.Reason != want || got.RetryAfter != p.plan.Window {
			return fmt.Errorf("a %s call is answered %+v, want %q for %s", priority, got, want, p.plan.Window)
		}
		return nil
	}
	return inTurn(
		func() error { return p.expect("a flood of low", low, 1000, p.plan.LowRate) },
		func() error { return reason(low, driver.ReasonLowCap) },
		func() error { return p.expect("high after it", high, 1000, p.plan.Rate-p.plan.LowRate) },
		func() error { return reason(high, driver.ReasonGlobal) },
		func() error { h.Move(p.plan.Window); return p.expect("a window later, high", high, 1000, p.plan.Rate) },
		func() error { return reason(low, driver.ReasonGlobal) },
		func() error {
			h.Move(p.plan.Window)
			if n, err := p.take(low, 1000); err != nil || n != p.plan.LowRate {
				return errors.Join(err, fmt.Errorf("low was granted %d, want %d: refused calls are charged", n, p.plan.LowRate))
			}
			return nil
		},
	)
}

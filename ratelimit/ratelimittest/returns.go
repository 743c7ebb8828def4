package ratelimittest

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

func returnCases() []testCase {
	return []testCase{
		{Name: "return-gives-back", Run: returnGivesBack},
		{Name: "return-fills-no-higher", Run: returnFillsNoHigher},
		{Name: "return-too-late", Run: returnTooLate},
		{Name: "return-of-lost-state", Run: returnOfLostState},
		{Name: "return-to-the-day", Run: returnToTheDay},
		{Name: "strict-return", Run: strictReturn},
	}
}

// grant takes one permit.
func (p *player) grant(priority driver.Priority, size int) (driver.Returned, error) {
	g, err := p.ask(driver.Run{Priority: priority, Size: size, Count: 1})
	if err == nil && g.Runs[0].Granted != 1 {
		err = fmt.Errorf("a permit of %d is refused: %+v", size, g.Runs[0])
	}
	return driver.Returned{Priority: priority, Size: size, At: g.At}, err
}

func (p *player) giveBack(r driver.Returned) error {
	if err := p.h.Store.Return(p.ctx, p.plan, r); err != nil {
		return fmt.Errorf("return: %w", err)
	}
	return nil
}

// slow fills one place in 100 ms, so that returned calls can be distinguished from refilled
// ones.
var slow = ratelimit.Limits{HardLimit: 100, Rate: 10, LowRate: 8, Burst: 40, LowBurst: 30}

// slowStrict is the same in strict mode.
var slowStrict = ratelimit.Limits{HardLimit: 50, Rate: 40, LowRate: 30, Strict: true}

func returnGivesBack(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{slow, slowStrict} {
		p := steps.Get(full(ctx, h, l))
		var lows, highs driver.Returned
		if err := inTurn(
			func() error { lows, err = p.grant(low, 12); return err },
			func() error { highs, err = p.grant(high, 20); return err },
			func() error { return p.remains("without them", 8, 8) },
			func() error { return p.giveBack(highs) },
			func() error { return p.remains("high is back", 18, 28) },
			func() error { h.Move(p.plan.Delay); return p.giveBack(lows) },
			func() error { return p.remains("low is back in the last moment", 30, 40) },
		); err != nil {
			return fmt.Errorf("strict %t: %w", p.plan.Strict, err)
		}
	}
	return nil
}

func returnFillsNoHigher(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{slow, slowStrict} {
		p := steps.Get(full(ctx, h, l))
		var r driver.Returned
		if err := inTurn(
			func() error { r, err = p.grant(low, 5); return err },
			func() error { return p.giveBack(r) },
			func() error { return p.giveBack(r) },
			func() error { return p.giveBack(r) },
			func() error { return p.remains("one came back three times", p.plan.LowBurst, p.plan.Burst) },
		); err != nil {
			return fmt.Errorf("strict %t: %w", p.plan.Strict, err)
		}
	}
	return nil
}

func returnTooLate(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{slow, slowStrict} {
		p := steps.Get(full(ctx, h, l))
		var r driver.Returned
		if err := inTurn(
			func() error { r, err = p.grant(low, 10); return err },
			func() error { h.Move(p.plan.Delay + time.Microsecond); return p.giveBack(r) },
			func() error { return p.remains("1 µs too late", 20, 30) },
			func() error { r.At += p.plan.Window.Microseconds(); return p.giveBack(r) },
			func() error { return p.remains("of the future", 20, 30) },
		); err != nil {
			return fmt.Errorf("strict %t: %w", p.plan.Strict, err)
		}
	}
	return nil
}

// returnOfLostState gives back permits that the new state never granted.
func returnOfLostState(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	losses := map[string]func(context.Context) error{"loss": h.Lose}
	if h.Restart != nil {
		losses["restart"] = h.Restart
	}
	for _, l := range []ratelimit.Limits{slow, slowStrict} {
		l.Delay = 5 * time.Second // a window of the strict mode must not be longer than it
		if l.Strict {
			l.Delay = time.Second
		}
		l.HardLimit = 500
		for name, lose := range losses {
			p := steps.Get(full(ctx, h, l))
			var r driver.Returned
			if err := inTurn(
				func() error { r, err = p.grant(high, 5); return err },
				func() error { return lose(ctx) },
				func() error { return p.giveBack(r) },
				func() error { return p.expect("at once", high, 1, 0) },
				func() error { return p.giveBack(r) },
				func() error { return p.expect("after the first call", high, 1, 0) },
				func() error { h.Move(50 * time.Millisecond); return p.giveBack(r) },
				func() error { return p.expect("a little later", high, 1, 0) },
			); err != nil {
				return fmt.Errorf("strict %t, %s: %w", p.plan.Strict, name, err)
			}
		}
	}
	return nil
}

func returnToTheDay(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{daily(slow), daily(slowStrict)} {
		p := steps.Get(full(ctx, h, l))
		used := func(when string, want int64) error {
			g := steps.Get(p.ask(driver.Run{Priority: high, Size: p.plan.Burst, Count: 1}))
			if g.Day.Used != want {
				return fmt.Errorf("%s: %d of the day are used, want %d", when, g.Day.Used, want)
			}
			return nil
		}
		var r driver.Returned
		if err := inTurn(
			func() error { return p.midnight() },
			func() error { r, err = p.grant(high, 7); return err },
			func() error { return used("granted", 7) },
			func() error { return p.giveBack(r) },
			func() error { _, err = p.grant(high, 1); return err },
			func() error { return used("given back", 1) },
			func() error { h.Move(24*time.Hour - p.plan.Delay/2); return nil },
			func() error { r, err = p.grant(high, 2); return err },
			func() error { h.Move(p.plan.Delay / 2); _, err = p.grant(high, 5); return err },
			func() error { return p.giveBack(r) },
			func() error { return used("given back after midnight", 5) },
		); err != nil {
			return fmt.Errorf("strict %t: %w", p.plan.Strict, err)
		}
	}
	return nil
}

// strictReturn removes the permit's own entries, wherever they are in the ring.
func strictReturn(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	p := steps.Get(full(ctx, h, strict))
	const step = time.Millisecond
	for round := range 5 {
		var all [8]driver.Returned
		for i := range all {
			if all[i], err = p.grant(driver.Priority(i%2), 5); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
			h.Move(step)
		}
		gone := (1 + 3*round) % len(all) // once at the end of a ring of 40
		for range 2 {                    // the second time it is gone already
			steps.Do(p.giveBack(all[gone]))
		}
		steps.Do(p.expect("in its place", high, 100, 5))
		// The other entries are unchanged: each becomes free a window after its grant.
		h.Move(p.plan.Window - time.Duration(len(all))*step - time.Microsecond)
		for i := range all {
			want := 5
			if i == gone {
				want = 0
			}
			steps.Do(p.expect(fmt.Sprint("round ", round, ", just before ", i), high, 1, 0))
			h.Move(time.Microsecond)
			steps.Do(p.expect(fmt.Sprint("round ", round, ", at ", i), high, 100, want))
			h.Move(step - time.Microsecond)
		}
		h.Move(2 * p.plan.Window)
	}
	return nil
}

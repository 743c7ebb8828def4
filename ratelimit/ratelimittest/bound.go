package ratelimittest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

func boundCases() []testCase {
	return []testCase{
		{Name: "bound-over-random-histories", Run: boundOverHistories},
		{Name: "bound-with-returns", Run: boundWithReturns},
		{Name: "clock-steps-are-covered", Run: clockStepsAreCovered},
		{Name: "limits-that-change", Run: limitsThatChange},
		{Name: "strict-limits-that-change", Run: strictLimitsThatChange},
		{Name: "strict-is-used-fully", Run: strictIsUsedFully},
	}
}

// use is a used permit.
type use struct {
	at       time.Duration // true time
	priority driver.Priority
	size     int
	store    int64
}

// history holds the uses, in true time, which is never set back.
type history struct {
	p    *player
	now  time.Duration
	uses []use
}

func (h *history) pass(d time.Duration) {
	h.now += d
	h.p.h.Move(d)
}

// within checks the maximum of any span of time, by checking the span that ends at each use.
// Low has its own bound.
func (h *history) within(span time.Duration, bound [2]int) error {
	var sum [2]int // of low, and of all
	from := 0
	for to, u := range h.uses {
		sum[1] += u.size
		if u.priority == low {
			sum[0] += u.size
		}
		for ; u.at-h.uses[from].at >= span; from++ {
			sum[1] -= h.uses[from].size
			if h.uses[from].priority == low {
				sum[0] -= h.uses[from].size
			}
		}
		for i, who := range []string{"low calls", "calls"} {
			if sum[i] > bound[i] {
				return fmt.Errorf("%d %s within %s, at most %d may be; from call %d to %d, at %s", sum[i], who, span, bound[i], from, to, u.at)
			}
		}
	}
	return nil
}

// covered checks spans of every length at once: the uses of each W are at most burst + rate*W
// exactly if a bucket of true time, which begins full, covers them.
func (h *history) covered(rate, burst int, of ...driver.Priority) error {
	most := int64(burst) * 1_000_000 // millionths
	tokens, last := most, time.Duration(0)
	for i, u := range h.uses {
		if !slices.Contains(of, u.priority) {
			continue
		}
		tokens = min(most, tokens+(u.at-last).Microseconds()*int64(rate)) - int64(u.size)*1_000_000
		if last = u.at; tokens < 0 {
			return fmt.Errorf("call %d at %s is %d millionths of a call more than %d and %d per second, of %s priority", i, u.at, -tokens, burst, rate, of)
		}
	}
	return nil
}

// bounds checks the bounds of a plan.
func (h *history) bounds(p *driver.Plan) error {
	if p.Strict {
		return h.within(p.Window, [2]int{p.LowRate, p.Rate})
	}
	return errors.Join(h.covered(p.Rate, p.Burst, low, high), h.covered(p.LowRate, p.LowBurst, low))
}

// boundOverHistories asks at random while failures happen: state is lost, the clock is set
// back, permits are given back. The clock never steps forward.
func boundOverHistories(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{
		limits, {HardLimit: 40, Rate: 20, LowRate: 15}, {HardLimit: 2000, Rate: 1000, LowRate: 10, Burst: 300},
		strict, {HardLimit: 10, Rate: 7, LowRate: 3, Strict: true},
	} {
		for seed := range uint64(2) {
			steps.Do(h.Lose(ctx))
			p := steps.Get(full(ctx, h, l))
			hist := &history{p: p}
			steps.Do(hist.play(ctx, seed))
			steps.Named(hist.bounds(p.plan), "%+v, history %d", l, seed)
			if len(hist.uses) == 0 {
				return fmt.Errorf("%+v, history %d: nothing was granted", l, seed)
			}
		}
	}
	return nil
}

func (h *history) play(ctx context.Context, seed uint64) error {
	r, p := random(seed), h.p
	var set time.Duration // how far the clock was set back
	for range 250 {
		switch r.IntN(100) {
		case 0:
			if err := p.h.Lose(ctx); err != nil {
				return err
			}
		case 1:
			if p.h.Restart != nil {
				if err := p.h.Restart(ctx); err != nil {
					return err
				}
			}
		case 2:
			back := time.Duration(r.IntN(1_500_000)) * time.Microsecond
			p.h.Move(-back)
			set += back
		case 3:
			h.pass(time.Duration(r.IntN(3000)) * time.Millisecond)
		default:
			h.pass(time.Duration(r.IntN(20_000)) * time.Microsecond)
		}
		run := driver.Run{Priority: driver.Priority(r.IntN(2)), Size: 1, Count: 1 + r.IntN(p.plan.Burst), Wait: r.IntN(9) == 0}
		if r.IntN(4) == 0 {
			run.Size = 1 + r.IntN(p.plan.LowBurst)
		}
		if err := h.take(run); err != nil {
			return err
		}
		for range r.IntN(3) {
			if err := h.maybeReturn(); err != nil {
				return err
			}
		}
	}
	return nil
}

// maybeReturn gives the last permit back, if that is still possible.
func (h *history) maybeReturn() error {
	if len(h.uses) == 0 {
		return nil
	}
	u := h.uses[len(h.uses)-1]
	if h.now-u.at > h.p.plan.Delay {
		return nil
	}
	h.uses = h.uses[:len(h.uses)-1]
	return h.p.giveBack(driver.Returned{Priority: u.priority, Size: u.size, At: u.store})
}

// boundWithReturns takes a burst, uses the refill, and gives the burst back in the last moment
// to use it as well: the size of a permit must not be both refilled and given back.
func boundWithReturns(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{limits, {HardLimit: 2000, Rate: 1000, Burst: 10}, strict} {
		p := steps.Get(full(ctx, h, l))
		hist := &history{p: p}
		for range 8 {
			g := steps.Get(p.ask(driver.Run{Priority: high, Size: 1, Count: p.plan.Burst}))
			hist.pass(p.plan.Delay)
			steps.Do(hist.take(driver.Run{Priority: high, Size: 1, Count: 2 * p.plan.Burst}))
			for range g.Runs[0].Granted {
				if err := p.giveBack(driver.Returned{Priority: high, Size: 1, At: g.At}); err != nil {
					return err
				}
			}
			steps.Do(hist.take(driver.Run{Priority: high, Size: 1, Count: 2 * p.plan.Burst}))
			steps.Named(hist.bounds(p.plan), "%+v", l)
			hist.pass(2 * p.plan.Window)
		}
	}
	return nil
}

// strictIsUsedFully takes all it can at each ms for some windows, and the beginning of one
// more.
func strictIsUsedFully(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	p := steps.Get(full(ctx, h, strict))
	const windows = 2
	got := 0
	for range windows*int(p.plan.Window/time.Millisecond) + p.plan.Rate/3 + 1 {
		n := steps.Get(p.take(high, 3))
		got += n
		h.Move(time.Millisecond)
	}
	if want := (windows + 1) * p.plan.Rate; got != want {
		return fmt.Errorf("%d calls were granted in %d windows, want %d", got, windows+1, want)
	}
	return nil
}

package ratelimittest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

func timeCases() []testCase {
	return []testCase{
		{Name: "clock-forward", Run: clockForward},
		{Name: "clock-a-little-back", Run: clockALittleBack},
		{Name: "clock-far-back", Run: clockFarBack},
		{Name: "retry-after-is-exact", Run: retryAfterIsExact},
		{Name: "two-stores-one-count", Run: twoStoresOneCount},
		{Name: "cancelled-context", Run: cancelledContext},
		{Name: "bad-asks", Run: badAsks},
	}
}

func clockForward(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{limits, strict} {
		p := steps.Get(full(ctx, h, l))
		for _, d := range []time.Duration{time.Hour, 24 * time.Hour, 20 * 365 * 24 * time.Hour} {
			h.Move(d)
			steps.Do(p.expect(fmt.Sprint(d, " later"), high, 1_000_000, p.plan.Burst))
		}
	}
	return nil
}

// clockALittleBack checks that time stands still for up to a second.
func clockALittleBack(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{limits, strict} {
		p := steps.Get(full(ctx, h, l))
		if err := inTurn(
			func() error { return p.expect("full", high, 3, 3) },
			func() error { h.Move(-time.Second); return p.expect("a second back", high, 1000, p.plan.Burst-3) },
			func() error { h.Move(time.Second); return p.expect("caught up", high, 1, 0) },
			func() error { h.Move(-time.Second); return p.exact(one(high)) },
		); err != nil {
			return fmt.Errorf("strict %t: %w", p.plan.Strict, err)
		}
	}
	return nil
}

func clockFarBack(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{limits, strict} {
		for _, back := range []time.Duration{time.Second + time.Microsecond, 30 * time.Hour} {
			p := steps.Get(full(ctx, h, l))
			if err := inTurn(
				func() error { return p.expect("full", high, 1, 1) },
				func() error { h.Move(-back); return p.expect("far back", high, 1, 0) },
				func() error { h.Move(p.plan.Window); return p.expect("a window later", high, 1000, p.plan.Burst) },
			); err != nil {
				return fmt.Errorf("strict %t, %s back: %w", p.plan.Strict, back, err)
			}
		}
	}
	return nil
}

// random returns the same numbers in every run.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 4)) }

func retryAfterIsExact(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{
		limits, strict, sharing(limits, 60), sharing(strict, 60), {HardLimit: 9, Rate: 3, LowRate: 2, Burst: 4, LowBurst: 3}, {HardLimit: 8, Rate: 3, LowRate: 2, Strict: true},
		{HardLimit: 8, Rate: 3, DayLimit: 9, DayHighReserve: 4, DayOffset: 90 * time.Minute},
	} {
		p := steps.Get(full(ctx, h, l))
		r := random(uint64(l.Rate))
		for i := range 80 {
			run := driver.Run{Priority: driver.Priority(r.IntN(2)), Count: 1 + r.IntN(20), Wait: r.IntN(2) == 0}
			most := p.plan.LowBurst
			if run.Priority == high {
				most = p.plan.Burst
			}
			run.Size = 1 + r.IntN(min(most, 6))
			if run.Priority == low && p.plan.Day.Limit > 0 {
				run.Size = 1 // low can never have more than 5 of the day
			}
			steps.Named(p.exact(run), "%+v, call %d", l, i)
			steps.Get(p.ask(run))
			h.Move(time.Duration(r.IntN(3000)) * time.Microsecond)
		}
	}
	return nil
}

// twoStoresOneCount asks from two processes at once while the clock stands still.
func twoStoresOneCount(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{limits, strict} {
		p := steps.Get(full(ctx, h, l))
		const callers, calls = 8, 10
		granted := make([]int, callers)
		errs := make([]error, callers)
		start := make(chan struct{})
		var all sync.WaitGroup
		for i := range callers {
			store := h.Store
			if i%2 == 1 {
				store = h.Peer
			}
			all.Go(func() {
				<-start
				for range calls {
					g, err := store.Acquire(ctx, p.plan, driver.Ask{Runs: []driver.Run{one(high)}})
					if err != nil {
						errs[i] = err
						return
					}
					granted[i] += g.Runs[0].Granted
				}
			})
		}
		close(start)
		all.Wait()
		sum := 0
		for _, n := range granted {
			sum += n
		}
		steps.Do(errors.Join(errs...))
		if sum != p.plan.Burst {
			return fmt.Errorf("strict %t: %d callers of two processes were granted %d together, want %d", p.plan.Strict, callers, sum, p.plan.Burst)
		}
	}
	return nil
}

func cancelledContext(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	p := steps.Get(full(ctx, h, limits))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := h.Store.Acquire(ended, p.plan, driver.Ask{Runs: []driver.Run{one(high)}}); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("Acquire under an ended context: %v", err)
	}
	if err := h.Store.Return(ended, p.plan, driver.Returned{Size: 1}); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("Return under an ended context: %v", err)
	}
	return nil
}

func badAsks(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{limits, strict} {
		p := steps.Get(full(ctx, h, l))
		for _, run := range []driver.Run{
			{Priority: high, Size: 0, Count: 1}, {Priority: high, Size: -1, Count: 1}, {Priority: high, Size: 1, Count: 0},
			{Priority: high, Size: p.plan.Burst + 1, Count: 1}, {Priority: low, Size: p.plan.LowBurst + 1, Count: 1},
			{Priority: 2, Size: 1, Count: 1},
		} {
			if g, err := h.Store.Acquire(ctx, p.plan, driver.Ask{Runs: []driver.Run{one(high), run}}); err == nil {
				return fmt.Errorf("%+v was accepted: %+v", run, g)
			}
		}
		if _, err := h.Store.Acquire(ctx, p.plan, driver.Ask{}); err == nil {
			return errors.New("an Ask without runs was accepted")
		}
		if err := h.Store.Return(ctx, p.plan, driver.Returned{Priority: high}); err == nil {
			return errors.New("the return of nothing was accepted")
		}
		steps.Do(p.remains("after what was not accepted", p.plan.LowBurst, p.plan.Burst))
	}
	return nil
}

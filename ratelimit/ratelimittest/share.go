package ratelimittest

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

func shareCases() []testCase {
	return []testCase{
		{Name: "low-share", Run: lowShare},
		{Name: "low-share-ends", Run: lowShareEnds},
	}
}

// sharing returns limits with another LowShare, in percent.
func sharing(l ratelimit.Limits, percent int) ratelimit.Limits {
	l.LowShare = &percent
	return l
}

// lowShare has a process ask for high priority without end, and another one wait for low. Low
// gets its share and no more, and the whole rate is used.
func lowShare(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	const seconds, step = 4, 4 * time.Millisecond
	for _, l := range []ratelimit.Limits{limits, sharing(limits, 20), sharing(limits, 0), strict, sharing(strict, 40), sharing(strict, 0)} {
		p := steps.Get(full(ctx, h, l))
		if _, err := p.take(high, 1000); err != nil { // the burst is not part of these seconds
			return err
		}
		var got [2]int
		next := time.Duration(0)
		run := seconds * p.second()
		if p.plan.Strict {
			run += p.plan.Window // the first window is full
		}
		for now := time.Duration(0); now < run; now += step {
			h.Move(step)
			g := steps.Get(p.ask(driver.Run{Priority: high, Size: 1, Count: 1000, Wait: true}))
			got[high] += g.Runs[0].Granted
			if now < next {
				continue
			}
			// Three callers wait in another process, which asks again at its retry time.
			peer := *p
			peer.h.Store = h.Peer
			if g, err = peer.ask(driver.Run{Priority: low, Size: 1, Count: 3, Wait: true}); err != nil {
				return err
			}
			got[low] += g.Runs[0].Granted
			next = now + min(g.Runs[0].RetryAfter, 100*time.Millisecond)
		}
		share := p.plan.LowRate * p.plan.LowShare * seconds / 100
		if got[low] < share*9/10 || got[low] > share+share/10+3 {
			return fmt.Errorf("strict %t, LowShare %d %%: low had %d calls in %d seconds under a flood of high, its share is %d",
				p.plan.Strict, p.plan.LowShare, got[low], seconds, share)
		}
		if all, most := got[low]+got[high], p.plan.Rate*seconds; all < most*95/100 || all > most+p.plan.Burst {
			return fmt.Errorf("strict %t, LowShare %d %%: %d calls were granted in %d seconds, want %d", p.plan.Strict, p.plan.LowShare, all, seconds, most)
		}
	}
	return nil
}

// second returns the time in which Rate calls are granted.
func (p *player) second() time.Duration {
	if p.plan.Strict {
		return p.plan.Window
	}
	return time.Second
}

// lowShareEnds checks that high leaves the share free for a refused call of low priority, and
// takes the share if that call does not return.
func lowShareEnds(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	p := steps.Get(full(ctx, h, limits))
	var until time.Duration // high leaves the share free
	refuse := func() error {
		g, err := p.ask(one(low))
		if until = g.Runs[0].RetryAfter + p.plan.Hold; err == nil && g.Runs[0].Granted > 0 {
			err = fmt.Errorf("low was granted %+v of nothing", g.Runs[0])
		}
		return err
	}
	held := func(when string, want int, reason driver.Reason) error {
		g, err := p.ask(driver.Run{Priority: high, Size: 1, Count: 1000})
		if err == nil && (g.Runs[0].Granted != want || g.Runs[0].Reason != reason) {
			err = fmt.Errorf("%s: high is answered %+v, want %d and %q", when, g.Runs[0], want, reason)
		}
		return err
	}
	return inTurn(
		func() error { return p.expect("drain", high, p.plan.Burst, p.plan.Burst) },
		refuse,
		func() error { h.Move(10 * time.Millisecond); return held("low waits", 2, driver.ReasonLowShare) },
		func() error {
			h.Move(until - 10*time.Millisecond - time.Microsecond)
			return held("just before the hold is over", p.plan.Burst-2, driver.ReasonLowShare)
		},
		func() error { h.Move(time.Microsecond); return held("low has gone away", 2, driver.ReasonGlobal) },
		func() error { h.Move(10 * time.Millisecond); return p.expect("low comes back", low, 1, 1) },
		func() error { return held("low was served", 3, driver.ReasonGlobal) },
	)
}

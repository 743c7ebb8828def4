package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// call is one call of the store for all callers that asked before it.
type call struct {
	ask     driver.Ask
	runs    []*callers // the callers of each run, without those that left
	returns int
	extra   callers // callers that get the grants of others that left
}

// orphan is a grant without a caller.
type orphan struct {
	p    Priority
	size int
	at   int64
}

// lead makes the call that self was chosen for. It is entered with mu held, and unlocks mu.
func (l *Limiter) lead(ctx context.Context, self *caller) {
	self.lead = false
	k := l.take()
	l.mu.Unlock()

	var g driver.Grant
	err := errors.New("the store panicked") // unless it returns
	sent := l.now()
	returned := false
	defer func() {
		if returned && ctx.Err() == nil {
			l.finish(k, self, g, sent, err)
			return
		}
		// self leaves, by the panic or the end of its context; what it was granted is for others.
		l.mu.Lock()
		if self.in != nil {
			l.drop(self)
		}
		l.mu.Unlock()
		l.finish(k, nil, g, sent, err)
	}()
	g, err = l.breaker.call(func() (driver.Grant, error) {
		// The call is for others too, so it does not end with the leader's context.
		l.counts.calls.Add(1)
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cfg.Timeout)
		defer cancel()
		g, err := l.store.Acquire(limited, l.plan, k.ask)
		if err == nil {
			err = checkGrant(g, k.ask)
		}
		return g, err
	})
	returned = true
}

// checkGrant refuses an invalid grant of a store.
func checkGrant(g driver.Grant, ask driver.Ask) error {
	if len(g.Runs) != len(ask.Runs) {
		return fmt.Errorf("the store answered %d runs of %d", len(g.Runs), len(ask.Runs))
	}
	for i, r := range g.Runs {
		if r.Granted < 0 || r.Granted > ask.Runs[i].Count || (r.Granted < ask.Runs[i].Count) != (r.Reason != "") {
			return fmt.Errorf("the store granted %d of %d calls with the reason %q", r.Granted, ask.Runs[i].Count, r.Reason)
		}
	}
	return nil
}

// take makes one call for all queued and waiting callers: high before low, and within a class
// the waiting ones before the queued ones.
func (l *Limiter) take() *call {
	k := &call{ask: driver.Ask{Day: l.day}, returns: l.returns}
	k.ask.Runs, k.runs = make([]driver.Run, 0, 2), make([]*callers, 0, 2)
	for _, p := range [2]Priority{High, Low} {
		if w := &l.waiting[p]; w.len > 0 {
			k.ask.Runs = append(k.ask.Runs, driver.Run{Priority: p, Size: 1, Count: w.len, Wait: true})
			k.runs = append(k.runs, w)
		}
		for _, s := range l.queued[p] {
			if s.len > 0 {
				k.ask.Runs = append(k.ask.Runs, driver.Run{Priority: p, Size: s.size, Count: s.len})
				k.runs = append(k.runs, &s.callers)
			}
		}
		l.queued[p] = nil
	}
	return k
}

// finish distributes the answers of the call, starts the next call, and wakes all callers with
// an answer.
func (l *Limiter) finish(k *call, self *caller, g driver.Grant, sent time.Duration, err error) {
	l.mu.Lock()
	now := l.now()
	var orphans []orphan
	if err != nil {
		l.fail(k, now, err)
	} else {
		orphans = l.settle(k, self, g, sent, now)
	}
	changes := l.breaker.taken()
	l.next(now)
	l.mu.Unlock()

	for i, r := range k.ask.Runs {
		if !r.Wait {
			k.runs[i].signal(self)
		}
	}
	k.extra.signal(self)
	l.report(changes)
	for _, o := range orphans {
		l.giveBack(o)
	}
}

// signal wakes all but self, which is awake.
func (l *callers) signal(self *caller) {
	for c := l.first; c != nil; {
		next := c.next // c may be reused as soon as it is awake
		if c != self {
			c.signal()
		}
		c = next
	}
}

// next starts the next call, made by a caller that wants one now. mu is held, and no call is in
// flight.
func (l *Limiter) next(now time.Duration) {
	l.calling = false
	c := l.queued[High].first()
	if c == nil {
		c = l.queued[Low].first()
	}
	if c == nil && l.nextDue() <= now {
		c = l.baton
		if c == nil {
			c = l.firstWaiting()
		}
	}
	if c == nil {
		l.nudge()
		return
	}
	l.calling, c.lead = true, true
	c.signal()
}

// drop removes a caller whose context ended.
func (l *Limiter) drop(c *caller) {
	c.in.remove(c)
	if l.baton == c {
		l.baton, l.alarm = nil, never
	}
	if c.lead {
		c.lead = false
		l.next(l.now())
	} else if !l.calling {
		l.nudge()
	}
}

// remember stores a refusal, so that the store need not be called for it again.
func (l *Limiter) remember(p Priority, d denial, now time.Duration) {
	if d.until <= now {
		return
	}
	known := l.denied.Load()
	if known == nil {
		known = &denials{}
	}
	l.denied.Store(known.with(p, d, now))
}

func (l *Limiter) report(changes []breakerChange) {
	for _, c := range changes {
		l.cfg.Logger.Warn("the rate limiter's circuit breaker changed", "from", string(c.from), "to", string(c.to))
		if l.cfg.OnBreaker != nil {
			l.cfg.OnBreaker(c.from, c.to)
		}
	}
}

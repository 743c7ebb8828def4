package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// call is one call of the store for everybody who asked before it.
type call struct {
	ask     Ask
	runs    []*callers // whose run it is; those who left are not in it any more
	returns int
	extra   callers // answered with what was granted to others, who left
}

// orphan is a grant that nobody is there to take.
type orphan struct {
	p    Priority
	size int
	at   int64
}

// lead makes the call that self was chosen for. It is entered with mu held, and
// unlocks it.
func (l *Limiter) lead(ctx context.Context, self *caller) {
	self.lead = false
	k := l.take()
	l.mu.Unlock()

	settled := false
	defer func() {
		if !settled { // the store panics; the others must not wait for ever
			l.finish(k, nil, Grant{}, 0, errors.New("the store panicked"))
		}
	}()
	sent := l.now()
	g, err := l.breaker.call(func() (Grant, error) {
		// The call is for others too: the end of the leader's context is no
		// reason to end it.
		l.counts.calls.Add(1)
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cfg.Timeout)
		defer cancel()
		g, err := l.store.Acquire(limited, l.plan, k.ask)
		if err == nil {
			err = g.check(k.ask)
		}
		return g, err
	})
	settled = true
	if ctx.Err() == nil {
		l.finish(k, self, g, sent, err)
		return
	}
	l.mu.Lock()
	if self.in != nil {
		l.drop(self) // what it would get is for others
	}
	l.mu.Unlock()
	l.finish(k, nil, g, sent, err)
}

// check keeps a store's mistake from becoming a grant.
func (g Grant) check(ask Ask) error {
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

// take makes one call of all who ask and all who wait: high before low, and
// within a class those before who wait.
func (l *Limiter) take() *call {
	k := &call{ask: Ask{Day: l.day}, returns: l.returns}
	k.ask.Runs, k.runs = make([]Run, 0, 2), make([]*callers, 0, 2)
	for _, p := range [2]Priority{High, Low} {
		if w := &l.waiting[p]; w.len > 0 {
			k.ask.Runs = append(k.ask.Runs, Run{Priority: p, Size: 1, Count: w.len, Wait: true})
			k.runs = append(k.runs, w)
		}
		for _, s := range l.queued[p] {
			if s.len > 0 {
				k.ask.Runs = append(k.ask.Runs, Run{Priority: p, Size: s.size, Count: s.len})
				k.runs = append(k.runs, &s.callers)
			}
		}
		l.queued[p] = nil
	}
	return k
}

// finish hands out what the call brought, has the next one made, and wakes all
// who have their answer.
func (l *Limiter) finish(k *call, self *caller, g Grant, sent time.Duration, err error) {
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

// signal wakes all but self, who is awake.
func (l *callers) signal(self *caller) {
	for c := l.first; c != nil; {
		next := c.next // c may be reused as soon as it is awake
		if c != self {
			c.signal()
		}
		c = next
	}
}

// next has the next call made, by somebody who wants one now. mu is held, and
// nobody makes a call.
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

// drop takes a caller off whose context ended.
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

// remember a refusal, so that it need not be asked for again.
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

func (d DayCount) max(o DayCount) DayCount {
	if o.Day > d.Day || o.Day == d.Day && o.Used > d.Used {
		return o
	}
	return d
}

func (l *Limiter) report(changes []breakerChange) {
	for _, c := range changes {
		l.cfg.Logger.Warn("the rate limiter's circuit breaker changed", "from", c.from.String(), "to", c.to.String())
		if l.cfg.Hooks.BreakerChanged != nil {
			l.cfg.Hooks.BreakerChanged(c.from, c.to)
		}
	}
}

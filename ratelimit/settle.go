package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// settle distributes the grants, in order of arrival. mu is held.
func (l *Limiter) settle(k *call, self *caller, g driver.Grant, sent, now time.Duration) []orphan {
	l.failed = 0
	l.day, l.remain, l.seen = g.Day, g.Remaining, now
	useBy := sent + l.plan.UseFor
	granted, lost := 0, false
	var orphans []orphan
	for i, run := range k.ask.Runs {
		got, p := g.Runs[i], run.Priority
		granted += got.Granted * run.Size
		a := &answer{at: g.At, useBy: useBy, reason: got.Reason, until: now + got.RetryAfter, remaining: g.Remaining[p]}
		if got.Reason != "" && k.returns == l.returns {
			l.remember(p, denial{size: run.Size, until: a.until, reason: got.Reason, remaining: a.remaining}, now)
		}
		spare := got.Granted
		if run.Wait {
			l.due[p] = now
			if got.Reason != "" {
				l.due[p] = now + l.spacing(p, got)
			}
			if spare > 0 && now >= useBy {
				lost, spare = true, 0 // no waiting caller is served by an expired permit
			}
			spare -= l.serve(p, spare, a, self)
		} else {
			spare -= l.hand(k.runs[i], spare, a)
		}
		if spare > 0 && now < useBy { // a caller has left, and another can use its grant
			if run.Size == 1 {
				spare -= l.serve(p, spare, a, self)
			}
			if next := l.queued[p].of(run.Size); next != nil {
				spare -= l.move(next, spare, a, &k.extra)
			}
		}
		if spare > 0 {
			orphans = append(orphans, orphan{p: p, size: spare * run.Size, at: g.At})
		}
	}
	l.recent.add(now, granted)
	l.tooLate(lost, granted, now, self)
	return orphans
}

// hand answers all callers of a run: the first ones are granted.
func (l *Limiter) hand(run *callers, granted int, a *answer) int {
	n := 0
	for c := run.first; c != nil; c = c.next {
		c.answered, c.answer = true, a
		c.in = nil
		if n < granted {
			c.granted = true
			n++
		}
	}
	if n > 0 {
		l.counts.acquire(run.first.p, n*run.first.n)
	}
	if refused := run.len - n; refused > 0 {
		l.counts.reject(run.first.p, a.reason, refused*run.first.n)
	}
	return n
}

// serve grants to the first n waiting callers.
func (l *Limiter) serve(p Priority, n int, a *answer, self *caller) int {
	served := 0
	for ; served < n && l.waiting[p].first != nil; served++ {
		c := l.waiting[p].first
		c.granted = true
		l.end(c, a, self)
	}
	l.counts.acquire(p, served)
	return served
}

// move grants to the first n callers that are queued for the next call.
func (l *Limiter) move(from *callers, n int, a *answer, to *callers) int {
	moved := 0
	for ; moved < n && from.first != nil; moved++ {
		c := from.first
		from.remove(c)
		to.push(c)
		c.answered, c.granted, c.answer, c.in = true, true, a, nil
		l.counts.acquire(c.p, c.n)
	}
	return moved
}

// end answers a waiting caller.
func (l *Limiter) end(c *caller, a *answer, self *caller) {
	c.in.remove(c)
	c.answered, c.answer = true, a
	if l.baton == c {
		l.baton, l.alarm = nil, never
	}
	if c != self {
		c.signal()
	}
}

// fail refuses the callers of Allow that were part of the call. Callers queued behind a call
// that took its whole timeout would wait as long again, so they are refused too, as are callers
// whose own call the breaker would refuse. Callers of Wait wait until the breaker opens. The
// charge of the call remains: the callers ask again, and do not use a grant that they did not
// see.
func (l *Limiter) fail(k *call, now time.Duration, cause error) {
	a := &answer{err: unavailable(cause), reason: driver.ReasonUnavailable, until: now + l.breaker.refusesFor()}
	for i, run := range k.ask.Runs {
		if !run.Wait {
			l.hand(k.runs[i], 0, a)
		}
	}
	if l.breaker.refusesFor() > 0 {
		l.failed = 0
		l.endWaits(a, nil)
	} else {
		l.askLater(now)
	}
	if !errors.Is(cause, context.DeadlineExceeded) && l.breaker.refusesFor() == 0 {
		return
	}
	for p := range l.queued {
		for _, s := range l.queued[p] {
			if s.len > 0 {
				l.hand(&s.callers, 0, a)
				k.ask.Runs, k.runs = append(k.ask.Runs, driver.Run{}), append(k.runs, &s.callers)
			}
		}
		l.queued[p] = nil
	}
}

// askLater makes the waiting callers ask again after a pause, which doubles with each failure
// in a row. The jitter keeps processes from asking at the same moment.
func (l *Limiter) askLater(now time.Duration) {
	pause := min(firstPause<<min(l.failed, 10), mostSpacing)
	l.failed++
	for p := range l.due {
		l.due[p] = now + pause + rand.N(pause/2)
	}
}

func (l *Limiter) endWaits(a *answer, self *caller) {
	for p := range l.waiting {
		w := &l.waiting[p]
		if w.len > 0 {
			l.counts.reject(Priority(p), a.reason, w.len)
		}
		for w.first != nil {
			l.end(w.first, a, self)
		}
	}
}

// tooLate ends the waits if the grants of several calls in a row arrived expired: to continue
// would use up the budget for nothing.
func (l *Limiter) tooLate(lost bool, granted int, now time.Duration, self *caller) {
	switch {
	case lost:
		l.late++
	case granted > 0:
		l.late = 0
	}
	if l.late >= l.cfg.BreakerCalls {
		l.late = 0
		l.endWaits(&answer{
			err:    unavailable(fmt.Errorf("its answers take longer than a permit lasts, %s; raise Limits.Delay or bring the store nearer", l.plan.UseFor)),
			reason: driver.ReasonUnavailable, until: now,
		}, self)
	}
}

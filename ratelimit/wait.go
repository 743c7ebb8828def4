package ratelimit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// How often the ones who wait ask. A permit is worth asking for before the
// bucket is full again, or what would run over is lost: a burst of 30 at 450
// calls per second takes 67 ms.
const (
	leastSpacing = time.Millisecond
	mostSpacing  = 100 * time.Millisecond
	daySpacing   = time.Second
	mostJitter   = 2 * time.Millisecond
	firstPause   = 10 * time.Millisecond // after a call that failed
)

// Wait waits for one call, first come first served within a class, high before
// low. One of those who wait asks the store for all of them, when it can have
// something. A call of the store that fails is repeated after a pause, so a store
// that is slow or away for a moment ends no Wait. The error is the context's, or
// wraps [ErrUnavailable] when the circuit breaker is open, or is
// [ErrTooManyWaiting].
func (l *Limiter) Wait(ctx context.Context, p Priority) (*Permit, error) {
	if err := l.check(ctx, p, 1); err != nil {
		return nil, err
	}
	if retry := l.breaker.refusesFor(); retry > 0 {
		l.counts.reject(p, ReasonUnavailable, 1)
		l.tell(p, 1, Decision{Reason: ReasonUnavailable})
		return nil, l.open
	}
	c := l.caller(p, 1)
	l.mu.Lock()
	if l.waiting[Low].len+l.waiting[High].len >= l.cfg.MaxWaiting {
		l.mu.Unlock()
		l.recycle(c)
		return nil, fmt.Errorf("%w: %d", ErrTooManyWaiting, l.cfg.MaxWaiting)
	}
	if l.waiting[p].len == 0 {
		l.due[p] = l.firstDue(p)
	}
	l.waiting[p].push(c)
	err := l.wait(ctx, c)
	if err != nil {
		l.recycle(c)
		return nil, err
	}
	d, err := l.decide(c)
	l.recycle(c)
	l.tell(p, 1, d)
	return d.Permit, err
}

// wait returns nil when the caller has its answer. It is entered with mu held,
// and unlocks it.
func (l *Limiter) wait(ctx context.Context, c *caller) error {
	var timer *time.Timer
	defer func() {
		if timer != nil {
			timer.Stop()
		}
	}()
	for !c.answered {
		if c.in == nil { // it made a call, and its context ended meanwhile
			l.mu.Unlock()
			return gone(ctx.Err())
		}
		now := l.now()
		due := l.nextDue()
		if c.lead || !l.calling && due <= now {
			l.calling = true
			l.lead(ctx, c)
			l.mu.Lock()
			continue
		}
		if l.baton == nil {
			l.baton = c
		}
		var rings <-chan time.Time
		if l.baton == c {
			l.alarm = never
			if due > now {
				l.alarm = due
				if timer == nil {
					timer = time.NewTimer(due - now)
				} else {
					timer.Reset(due - now)
				}
				rings = timer.C
			}
			// Otherwise a call is under way, and who made it wakes the baton.
		} else if !l.calling && due < l.alarm {
			l.baton.signal()
		}
		l.mu.Unlock()
		select {
		case <-c.wake:
		case <-rings:
		case <-ctx.Done():
		}
		l.mu.Lock()
		if l.baton == c {
			l.alarm = never
		}
		if !c.answered && ctx.Err() != nil {
			l.drop(c)
		}
	}
	l.mu.Unlock()
	return nil
}

// firstDue is when a class asks of which nobody waited.
func (l *Limiter) firstDue(p Priority) time.Duration {
	now := l.now()
	if known := l.denied.Load(); known != nil {
		if d, ok := known.find(p, 1, now, l.plan.LowShare > 0); ok {
			return min(d.until, now+l.longest(p, d.reason))
		}
	}
	return now
}

// spacing is how long a class that was refused lets pass before it asks again.
// The jitter keeps processes from asking at the same moment.
func (l *Limiter) spacing(p Priority, refused RunGrant) time.Duration {
	d := min(max(refused.RetryAfter, leastSpacing), l.longest(p, refused.Reason))
	return d + rand.N(min(d, mostJitter))
}

// longest bounds the spacing, because somebody may give something back. High asks
// again while low still yields to it.
func (l *Limiter) longest(p Priority, reason Reason) time.Duration {
	switch {
	case reason == ReasonDay:
		return daySpacing
	case p == High:
		return l.plan.Yield / 2
	default:
		return mostSpacing
	}
}

// nextDue is when somebody who waits asks next.
func (l *Limiter) nextDue() time.Duration {
	due := never
	for p := range l.waiting {
		if l.waiting[p].len > 0 {
			due = min(due, l.due[p])
		}
	}
	return due
}

func (l *Limiter) firstWaiting() *caller {
	if c := l.waiting[High].first; c != nil {
		return c
	}
	return l.waiting[Low].first
}

// nudge sees to it that somebody who waits watches the time. mu is held, and
// nobody makes a call.
func (l *Limiter) nudge() {
	switch {
	case l.baton == nil:
		if l.baton = l.firstWaiting(); l.baton != nil {
			l.alarm = never
			l.baton.signal()
		}
	case l.nextDue() < l.alarm:
		l.baton.signal()
	}
}

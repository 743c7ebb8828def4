package ratelimit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// The bounds of how often waiting callers ask. They ask for a permit before the bucket is full
// again, or the overflow would be lost: a burst of 30 at 450 calls per second takes 67 ms.
const (
	leastSpacing = time.Millisecond
	mostSpacing  = 100 * time.Millisecond
	daySpacing   = time.Second
	mostJitter   = 2 * time.Millisecond
	firstPause   = 10 * time.Millisecond // after a failed call
)

// Wait waits for one call, first come first served within a class, high before low. One of the
// waiting callers asks the store for all of them, as soon as a call can be free. A failed call
// of the store is repeated after a pause, so a store that is slow or down for a moment ends no
// Wait. The error is the context's, or wraps [ErrUnavailable] if the circuit breaker is open,
// or is [ErrTooManyWaiting].
func (l *Limiter) Wait(ctx context.Context, p Priority) (*Permit, error) {
	if err := l.check(ctx, p, 1); err != nil {
		return nil, err
	}
	if retry := l.breaker.refusesFor(); retry > 0 {
		l.counts.reject(p, driver.ReasonUnavailable, 1)
		l.tell(p, 1, Decision{Reason: driver.ReasonUnavailable})
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

// wait returns nil when the caller has its answer. It is entered with mu held, and unlocks mu.
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
			// Otherwise a call is in flight, and its caller wakes the baton.
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

// firstDue returns when the first waiting caller of a class asks.
func (l *Limiter) firstDue(p Priority) time.Duration {
	now := l.now()
	if known := l.denied.Load(); known != nil {
		if d, ok := known.find(p, 1, now, l.plan.LowShare > 0); ok {
			return min(d.until, now+l.longest(p, d.reason))
		}
	}
	return now
}

// spacing returns how long a refused class waits before it asks again. The jitter keeps
// processes from asking at the same moment.
func (l *Limiter) spacing(p Priority, refused driver.RunGrant) time.Duration {
	d := min(max(refused.RetryAfter, leastSpacing), l.longest(p, refused.Reason))
	return d + rand.N(min(d, mostJitter))
}

// longest bounds the spacing, because permits may be given back. High asks again while low
// still yields to it.
func (l *Limiter) longest(p Priority, reason Reason) time.Duration {
	switch {
	case reason == driver.ReasonDay:
		return daySpacing
	case p == High:
		return l.plan.Yield / 2
	default:
		return mostSpacing
	}
}

// nextDue returns when the next waiting caller asks.
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

// nudge makes sure that a waiting caller watches the time. mu is held, and no call is in
// flight.
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

package ratelimit

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// Permit allows calls of the upstream until it expires. Goroutines can share it.
type Permit struct {
	l     *Limiter
	at    int64
	useBy time.Duration
	p     Priority
	left  atomic.Int32 // uses
}

func (l *Limiter) permit(c *caller) *Permit {
	p := &Permit{l: l, at: c.answer.at, useBy: c.answer.useBy, p: c.p}
	p.left.Store(int32(c.n))
	return p
}

// expired reports whether it is too late to use the permit.
func (p *Permit) expired() bool { return p.l.now() >= p.useBy }

// Use runs fn, which writes one call to the upstream, unless it is too late or no use is left
// ([ErrPermitSpent]). A permit of AllowN has n uses. The error of fn is returned unchanged, and
// its use is spent: part of the call may have been written.
//
// The time is checked and fn runs under one lock per limiter, so that a process that is stopped
// in between is late with one call and not with many. All other permits of the limiter wait
// meanwhile: fn must do nothing but the write, and give it a deadline.
func (p *Permit) Use(fn func() error) error {
	return p.use(func() (bool, error) { return true, fn() })
}

// use is Use for an fn that knows whether it spent the permit.
func (p *Permit) use(fn func() (spent bool, err error)) error {
	p.l.writes.Lock()
	defer p.l.writes.Unlock()
	switch {
	case p.left.Load() <= 0:
		return errPermitUsed
	case p.expired():
		return errPermitExpired
	case p.left.Add(-1) < 0: // it was given back at this moment
		return errPermitUsed
	}
	spent, err := fn()
	if !spent {
		p.left.Add(1)
	}
	return err
}

// spend uses the whole permit, for work that begins now.
func (p *Permit) spend() error {
	if p.expired() {
		return errPermitExpired
	}
	if p.left.Swap(0) <= 0 {
		return errPermitUsed
	}
	return nil
}

// Return gives the unused calls back, so that others can have them at once. Without Return the
// budget recovers by itself. Return does nothing if no call is left, or after the permit
// expired; so you can defer it. It also works after the context has ended, and takes
// Config.Timeout at most. If the store does not answer, the error wraps [ErrUnavailable], and
// the unused calls are lost.
func (p *Permit) Return(ctx context.Context) error {
	size := p.left.Swap(0)
	if size <= 0 || p.expired() {
		return nil
	}
	return p.l.back(ctx, orphan{p: p.p, size: int(size), at: p.at})
}

// giveBack returns a grant without a caller.
func (l *Limiter) giveBack(o orphan) {
	if err := l.back(context.Background(), o); err != nil {
		l.cfg.Logger.Warn("a grant that nobody took could not be given back", "priority", o.p.String(), "calls", o.size, "error", err)
	}
}

func (l *Limiter) back(ctx context.Context, o orphan) error {
	if l.breaker.refusesFor() > 0 {
		return l.open
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cfg.Timeout)
	defer cancel()
	l.mu.Lock()
	day := l.day
	l.mu.Unlock()
	if err := l.store.Return(limited, l.plan, driver.Returned{Priority: o.p, Size: o.size, At: o.at, Day: day}); err != nil {
		return unavailable(err)
	}
	l.counts.returned.Add(uint64(o.size))
	// Calls that were refused before may be free now.
	l.mu.Lock()
	defer l.mu.Unlock()
	l.returns++
	l.denied.Store(nil)
	now := l.now()
	l.due = [2]time.Duration{now, now}
	if !l.calling {
		l.nudge()
	}
	return nil
}

package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// Limiter grants permits of the budget that its store keeps. Create one for each process and
// budget: its lock on writes is part of the arithmetic, and its callers share calls of the
// store. It has no goroutine, and needs no Close.
type Limiter struct {
	store   driver.Store
	plan    *driver.Plan
	cfg     Config
	most    [2]int // the most that can ever be granted at once, by priority
	began   time.Time
	breaker *breaker
	open    error                   // the answer while the breaker is open
	denied  atomic.Pointer[denials] // nil when none is known
	counts  counts
	pool    sync.Pool // of *caller

	// writes is held while a permit is checked and used; see Permit.Use.
	writes sync.Mutex

	// mu guards the fields below. It is never held during a call of the store.
	mu      sync.Mutex
	calling bool             // a call is in flight, or a caller was chosen to make it
	queued  [2]queue         // callers of Allow for the next call
	waiting [2]callers       // callers of Wait
	due     [2]time.Duration // when the callers of a class ask next
	baton   *caller          // the waiting caller that watches the time
	alarm   time.Duration    // when the baton wakes
	day     driver.DayCount  // of the store's last answer
	remain  [2]int           // the Remaining of the store's last answer
	seen    time.Duration    // the time of that answer
	returns int              // the number of permits given back
	late    int              // consecutive calls whose grants arrived too late
	failed  int              // consecutive failed calls
	recent  recent
}

// never is after any time.
const never = time.Duration(math.MaxInt64)

// New creates a limiter on a store: package memratelimit for one process, redisratelimit for
// many. It makes no call. For limits that cannot hold, the error shows the arithmetic.
func New(store driver.Store, cfg Config) (*Limiter, error) {
	if store == nil {
		return nil, errors.New("ratelimit: the store is nil; make one with memratelimit.New or redisratelimit.New")
	}
	plan, err := cfg.Limits.Plan()
	if err != nil {
		return nil, err
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	l := &Limiter{store: store, plan: plan, cfg: cfg.withDefaults(), began: time.Now(), alarm: never}
	l.most = [2]int{Low: plan.LowBurst, High: plan.Burst}
	if day := plan.Day; day.Limit > 0 {
		l.most[Low] = int(min(int64(plan.LowBurst), day.Limit-day.HighReserve))
		l.most[High] = int(min(int64(plan.Burst), day.Limit))
	}
	l.breaker, l.open = newBreaker(l.cfg, l.now), unavailable(errOpen)
	l.pool.New = func() any { return &caller{wake: make(chan struct{}, 1)} }
	return l, nil
}

// now is a monotonic clock.
func (l *Limiter) now() time.Duration { return time.Since(l.began) }

func (l *Limiter) check(ctx context.Context, p Priority, n int) error {
	switch {
	case p > High:
		return fault.MarkPermanent(fmt.Errorf("ratelimit: there is no priority %d; give Low or High", uint8(p)))
	case n < 1:
		return fault.MarkPermanent(fmt.Errorf("ratelimit: %d calls were asked for; ask for at least 1", n))
	case n > l.most[p]:
		return fault.MarkPermanent(fmt.Errorf("%w: %d calls of %s priority, of which there can be %d; ask for fewer, or raise the limits", errTooLarge, n, p, l.most[p]))
	}
	if err := ctx.Err(); err != nil {
		return gone(err)
	}
	return nil
}

// Decision is the answer to [Limiter.Allow].
type Decision struct {
	Allowed bool
	// Permit is for the calls; use it or give it back. It is nil after a refusal.
	Permit *Permit
	// RetryAfter is when to ask again after a refusal: the earliest time at which the calls
	// could be granted if no other caller took any.
	RetryAfter time.Duration
	// Remaining is how many calls this priority could get at once, by the store's last answer.
	Remaining int
	// Reason of the refusal; "" when allowed.
	Reason Reason
}

// Allow asks for one call, without waiting for a free one. A refusal by the budget is not an
// error; an error wraps [ErrUnavailable] or the context's error.
func (l *Limiter) Allow(ctx context.Context, p Priority) (Decision, error) {
	return l.AllowN(ctx, p, 1)
}

// AllowN asks for n calls at once: all of them or none. If n can never be granted at once, the
// error is permanent.
//
// A caller that finds no call of the store in flight makes one, in its own goroutine, for
// itself and all waiting callers; the others share the next one. A caller leaves when its
// context ends, except while it makes that call.
func (l *Limiter) AllowN(ctx context.Context, p Priority, n int) (Decision, error) {
	if err := l.check(ctx, p, n); err != nil {
		return Decision{}, err
	}
	if d, err := l.refused(p, n); err != nil || d.Reason != "" {
		l.counts.reject(p, d.Reason, n)
		l.tell(p, n, d)
		return d, err
	}
	c := l.caller(p, n)
	l.mu.Lock()
	l.queued[p].push(c)
	if l.calling {
		l.mu.Unlock()
		if err := l.await(ctx, c); err != nil {
			return Decision{}, err
		}
	} else {
		l.calling = true
		l.lead(ctx, c)
	}
	if !c.answered { // it made the call, and its context ended meanwhile
		l.recycle(c)
		return Decision{}, gone(ctx.Err())
	}
	d, err := l.decide(c)
	l.recycle(c)
	l.tell(p, n, d)
	return d, err
}

// refused answers without a call of the store if the answer is known.
func (l *Limiter) refused(p Priority, n int) (Decision, error) {
	if retry := l.breaker.refusesFor(); retry > 0 {
		return Decision{Reason: driver.ReasonUnavailable, RetryAfter: retry}, l.open
	}
	known := l.denied.Load()
	if known == nil {
		return Decision{}, nil
	}
	now := l.now()
	if d, ok := known.find(p, n, now, l.plan.LowShare > 0); ok {
		return Decision{Reason: d.reason, RetryAfter: d.until - now, Remaining: d.remaining}, nil
	}
	return Decision{}, nil
}

// await returns nil when the caller has its answer, or has made the call.
func (l *Limiter) await(ctx context.Context, c *caller) error {
	select {
	case <-c.wake:
		// The waking goroutine wrote lead before, and writes nothing after.
		if c.lead {
			l.mu.Lock()
			l.lead(ctx, c)
		}
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	if c.answered {
		l.mu.Unlock()
		<-c.wake // the signal is sent or will be soon, and must not reach the record's next user
		return nil
	}
	l.drop(c)
	l.mu.Unlock()
	l.recycle(c)
	return gone(ctx.Err())
}

// decide returns the caller's answer as a Decision.
func (l *Limiter) decide(c *caller) (Decision, error) {
	a := c.answer
	d := Decision{Remaining: a.remaining}
	if c.granted {
		d.Allowed = true
		d.Permit = l.permit(c)
		return d, nil
	}
	d.Reason = a.reason
	d.RetryAfter = max(0, a.until-l.now())
	return d, a.err
}

func (l *Limiter) tell(p Priority, n int, d Decision) {
	if d.Allowed && l.cfg.OnAcquired != nil {
		l.cfg.OnAcquired(p, n)
	}
	if !d.Allowed && l.cfg.OnRejected != nil {
		l.cfg.OnRejected(p, d.Reason, n)
	}
}

func (l *Limiter) caller(p Priority, n int) *caller {
	c := l.pool.Get().(*caller)
	c.p, c.n = p, n
	return c
}

// recycle reuses the record of a caller that is in no list.
func (l *Limiter) recycle(c *caller) {
	select {
	case <-c.wake:
	default:
	}
	*c = caller{wake: c.wake}
	l.pool.Put(c)
}

// Package lease is a lease from its holder's point of view: how long it may be used, when it is
// extended, and the loop that extends it. The outbox's partitions, a log's partitions and members,
// the keys of package idempotency and live streams use it for their leases.
//
//	property                                                      proven by
//	a lease is used until its time is over, counted from before
//	it was requested, less the margin                             TestTerm
//	it is extended each third of its time                         TestKeepExtends
//	a failed extension is tried again before the time is over     TestKeepTriesAgain
//	Keep ends when the lease is lost, or when its time is over    TestKeepEnds
//	a lease that was never held is requested until it is          TestKeepAsks
//	the end of a context cuts no request for a second             TestAsking
package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
)

// ErrExpired is returned when a lease could not be extended in time.
var ErrExpired = errors.New("the lease could not be extended in its time")

// Term is the time of one lease by this process's clock. It is safe for concurrent use.
type Term struct {
	ttl, margin time.Duration

	mu          sync.Mutex
	until, next time.Time // until is zero before the lease is held
}

// NewTerm makes the Term of a lease that lasts for ttl and is not used any more when margin of it
// is left. The lease is not held yet: call Extended, or Keep, which requests it.
func NewTerm(ttl, margin time.Duration) *Term { return &Term{ttl: ttl, margin: margin} }

// Until returns the end of a lease that is requested at the given time: it is counted from the
// request, so the holder stops using it before the store ends it.
func (t *Term) Until(asked time.Time) time.Time { return asked.Add(t.ttl - t.margin) }

// Extended records that the store granted or extended the lease, by a request at the given time.
func (t *Term) Extended(asked time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until, t.next = t.Until(asked), asked.Add(t.ttl/3)
}

// Failed records that the request to the store failed: it is repeated soon.
func (t *Term) Failed(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = now.Add(t.ttl / 15)
}

// Next returns when to extend the lease.
func (t *Term) Next() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next
}

// Soon reports whether the lease may already be extended now, along with others: a quarter of
// its time is over.
func (t *Term) Soon(now time.Time) bool { return !now.Before(t.Next().Add(t.ttl/4 - t.ttl/3)) }

// Valid reports whether the lease may be used.
func (t *Term) Valid(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return now.Before(t.until)
}

// Keep extends the lease whenever it is time, and first requests it if it was never held. It
// returns nil when ctx ends, the error of extend if that error is lost (nil: no error is), and
// ErrExpired when the time is over, which also ends a call of extend.
func (t *Term) Keep(ctx context.Context, lost error, extend func(context.Context) error) error {
	for {
		t.mu.Lock()
		until, next := t.until, t.next
		t.mu.Unlock()
		had := !until.IsZero()
		if had && until.Before(next) {
			next = until
		}
		if backoff.Sleep(ctx, time.Until(next)) != nil {
			return nil
		}
		asked := time.Now()
		if had && !asked.Before(until) {
			return ErrExpired
		}
		call, cancel := ctx, context.CancelFunc(func() {})
		if had {
			call, cancel = context.WithDeadline(ctx, until)
		}
		err := extend(call)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			t.Extended(asked)
		case errors.Is(err, lost):
			return err
		default:
			t.Failed(time.Now())
		}
	}
}

// grace is how long a request for a lease may still take after its context has ended.
const grace = time.Second

// Asking returns the context of a request for a lease: it ends a second after ctx. The store may
// have granted a request that the end of ctx cuts, and without its answer the holder cannot
// release the lease: others would wait until it runs out.
func Asking(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return ctx, func() {}
	}
	asking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return asking, func() { stop(); cancel() }
}

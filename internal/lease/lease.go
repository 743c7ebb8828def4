// Package lease is a lease as its holder sees it: how long it may be used, when it is
// extended, and the loop that extends it. Those of the outbox's shards, of a log's
// partitions and members, of idempotency's claims and of live streams are kept by it.
//
//	property                                                      proven by
//	a lease is used until its time is over, counted from before
//	it was asked for, less the margin                             TestTerm
//	it is extended each third of its time                         TestKeepExtends
//	a failed extension is tried again before the time is over     TestKeepTriesAgain
//	Keep ends when the lease is lost, or when its time is over    TestKeepEnds
//	a lease that was never had is asked for until it is           TestKeepAsks
package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
)

// ErrExpired says that a lease could not be extended in its time.
var ErrExpired = errors.New("the lease could not be extended in its time")

// Term is the time of one lease by this process's clock. It is safe for concurrent use.
type Term struct {
	ttl, margin time.Duration

	mu          sync.Mutex
	until, next time.Time // until is zero before the lease is had
}

// NewTerm makes the Term of a lease that lasts for ttl and is not used any more when
// margin of it is left. It is not had yet: Extended says so, or Keep asks for it.
func NewTerm(ttl, margin time.Duration) *Term { return &Term{ttl: ttl, margin: margin} }

// Until is when a lease ends that is asked for at the given time: counted from then, its
// holder gives it up before the store does.
func (t *Term) Until(asked time.Time) time.Time { return asked.Add(t.ttl - t.margin) }

// Extended notes that the store gave the lease, or more time of it, when it was asked at
// the given time.
func (t *Term) Extended(asked time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until, t.next = t.Until(asked), asked.Add(t.ttl/3)
}

// Failed notes that the store could not be asked: it is asked again soon.
func (t *Term) Failed(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = now.Add(t.ttl / 15)
}

// Next is when to extend the lease.
func (t *Term) Next() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next
}

// Soon reports whether the lease may as well be extended now, along with others: a
// quarter of its time is over.
func (t *Term) Soon(now time.Time) bool { return !now.Before(t.Next().Add(t.ttl/4 - t.ttl/3)) }

// Valid reports whether the lease may be used.
func (t *Term) Valid(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return now.Before(t.until)
}

// Keep has the lease extended whenever it is time, and first asked for when it was never
// had. It returns nil when ctx ends, the error of extend when that is lost (nil: no error
// is), and ErrExpired when the time is over, which also ends a call of extend.
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

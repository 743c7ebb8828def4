// Package lazy makes a value at its first use: once, by one caller for all that wait, and again
// after a failure.
//
//	property                                              proven by
//	concurrent callers share one attempt                  TestShared
//	a value is made once                                  TestOnce
//	a failure is returned, and the next call tries again  TestRetried
//	the end of a caller's context ends its wait alone     TestContext
//	an attempt without callers is cancelled               TestAbandoned
//	Close ends an attempt and returns the value           TestClose
package lazy

import (
	"context"
	"sync"
	"sync/atomic"
)

// Value is made at first use. It is safe for concurrent use.
type Value[T any] struct {
	make   func(context.Context) (T, error)
	closed error // what Get returns after Close

	made atomic.Pointer[T]

	mu      sync.Mutex
	attempt *attempt[T] // under way; nil when there is none
	ended   bool        // Close was called
}

// attempt is one call of make, and its waiting callers.
type attempt[T any] struct {
	cancel    context.CancelFunc
	waiting   int
	abandoned bool
	done      chan struct{} // closed at the end of the call
	value     T
	err       error
}

// New returns a Value that make makes. The context of make has the values of the first
// caller's; it ends when no caller waits any more, and when make has returned. Get
// returns closed after Close.
func New[T any](closed error, make func(context.Context) (T, error)) *Value[T] {
	return &Value[T]{make: make, closed: closed}
}

// Get returns the value. If there is none yet, Get makes it, or waits for the caller that
// is making it. The error is that of make, or the cause of the end of ctx.
func (v *Value[T]) Get(ctx context.Context) (T, error) {
	for {
		if made := v.made.Load(); made != nil {
			return *made, nil
		}
		a, err := v.join(ctx)
		if err != nil {
			var none T
			return none, err
		}
		if a == nil {
			continue // it was made meanwhile
		}
		select {
		case <-a.done:
			if a.err == nil || !v.left(a) {
				return a.value, a.err
			}
			// All callers before this one had left, so the attempt was cancelled.
		case <-ctx.Done():
			v.leave(a)
			var none T
			return none, context.Cause(ctx)
		}
	}
}

// join returns the attempt under way, or begins one; nil if the last one has made the value
// since the caller checked.
func (v *Value[T]) join(ctx context.Context) (*attempt[T], error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.made.Load() != nil:
		return nil, nil
	case v.ended:
		return nil, v.closed
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	a := v.attempt
	if a == nil {
		a = &attempt[T]{done: make(chan struct{})}
		v.attempt = a
		var making context.Context
		making, a.cancel = context.WithCancel(context.WithoutCancel(ctx))
		go v.run(making, a)
	}
	a.waiting++
	return a, nil
}

func (v *Value[T]) run(ctx context.Context, a *attempt[T]) {
	defer a.cancel()
	a.value, a.err = v.make(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case a.err == nil:
		v.made.Store(&a.value)
	case v.ended:
		a.err = v.closed
	}
	v.attempt = nil
	close(a.done)
}

// leave is called by a caller that no longer waits.
func (v *Value[T]) leave(a *attempt[T]) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if a.waiting--; a.waiting == 0 {
		a.abandoned = true
		a.cancel()
	}
}

// left reports whether the attempt was cancelled because all its callers had left.
func (v *Value[T]) left(a *attempt[T]) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return a.abandoned
}

// Made returns the value, if it was made.
func (v *Value[T]) Made() (value T, ok bool) {
	if made := v.made.Load(); made != nil {
		return *made, true
	}
	return value, false
}

// Close ends the attempt under way, waits for its end, and has later calls of Get fail if
// there is no value. It returns the value, if one was made, for the caller to close.
func (v *Value[T]) Close() (T, bool) {
	v.mu.Lock()
	v.ended = true
	a := v.attempt
	if a != nil {
		a.cancel()
	}
	v.mu.Unlock()
	if a != nil {
		<-a.done
	}
	return v.Made()
}

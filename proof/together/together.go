// Package together makes callers act at the same time: as fast as they are answered, for a
// time or until the work is done; or beside a measurement, until it is over.
//
//	property                                          proven by
//	all callers act until the time is over            TestFor
//	one caller that fails ends the others             TestFor
//	a caller without work left ends alone             TestFor
//	each piece of work is done by one caller          TestShare
//	what runs beside ends when it is stopped, and its
//	error is told                                     TestBackground
package together

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrDone says that a caller has no work left.
var ErrDone = errors.New("that is all")

// For runs fn in so many goroutines, until the time is over or one fails.
func For(callers int, span time.Duration, fn func(caller int, over *atomic.Bool) error) error {
	var over atomic.Bool
	stop := time.AfterFunc(span, func() { over.Store(true) })
	defer stop.Stop()
	return All(callers, func(caller int) error {
		err := fn(caller, &over)
		if errors.Is(err, ErrDone) {
			return nil
		}
		if err != nil {
			over.Store(true)
		}
		return err
	})
}

// Share has callers take the pieces of work in turn, each one at a time. fn gets the
// number of the piece.
func Share(pieces, callers int, fn func(i int) error) error {
	var next atomic.Int64
	return All(callers, func(int) error {
		for i := int(next.Add(1)) - 1; i < pieces; i = int(next.Add(1)) - 1 {
			if err := fn(i); err != nil {
				return err
			}
		}
		return nil
	})
}

// Background runs fn until stop is called, which waits for its end. That the context has ended
// is no error of fn.
func Background(ctx context.Context, fn func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- fn(ctx) }()
	return func() error {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
}

// All runs fn in so many goroutines, and joins their errors.
func All(callers int, fn func(caller int) error) error {
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { errs[i] = fn(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

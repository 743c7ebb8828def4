package idempotencytest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/idempotency/driver"
)

func concurrentCases() []testCase {
	return []testCase{
		{Name: "concurrent-one-effect", Run: concurrentOneEffect},
		{Name: "concurrent-takeover", Run: concurrentTakeover},
		{Name: "storm", Run: storm},
	}
}

type outcome struct {
	fresh bool
	err   error
}

// concurrentOneEffect: while one call runs, duplicates arrive through both stores. None of
// their handlers may run.
func concurrentOneEffect(ctx context.Context, h Harness) error {
	const duplicates = 4
	e, key := newEffects(h), "group:1"
	others := ctx // not the handler's, which may end with it
	results := make(chan outcome, duplicates)
	intruder := make(chan struct{}, duplicates)
	fresh, err := h.Store.Once(ctx, record(key), func(ctx context.Context) error {
		for i := range duplicates {
			store := h.Peer
			if i%2 == 0 {
				store = h.Store
			}
			go func() {
				fresh, err := store.Once(others, record(key), func(ctx context.Context) error {
					intruder <- struct{}{}
					return e.do(ctx, "one", nil)
				})
				results <- outcome{fresh, err}
			}()
		}
		select {
		case <-intruder:
			// Go on: the count of effects decides.
		case <-time.After(h.window()):
		}
		return e.do(ctx, "one", nil)
	})
	if err != nil || !fresh {
		err = fmt.Errorf("the first delivery: fresh %v, %w; want true", fresh, orNil(err))
	}
	for range duplicates {
		if r := <-results; r.err != nil || r.fresh {
			err = errors.Join(err, fmt.Errorf("a concurrent duplicate: fresh %v, %w; want false", r.fresh, orNil(r.err)))
		}
	}
	return errors.Join(err, e.expect(ctx, "at the end", key, "one", true, 1))
}

// concurrentTakeover: the first call fails while a duplicate waits, which then runs its
// handler; in the same process and in another one.
func concurrentTakeover(ctx context.Context, h Harness) error {
	return errors.Join(takeover(ctx, h, h.Store, "1"), takeover(ctx, h, h.Peer, "2"))
}

func takeover(ctx context.Context, h Harness, second driver.Store, name string) error {
	e, key := newEffects(h), "group:"+name
	other := ctx // not the handler's, which may end with it
	result, looked := make(chan outcome, 1), make(chan error, 1)
	var firstIsOver atomic.Bool
	_, err := h.Store.Once(ctx, record(key), func(ctx context.Context) error {
		go func() {
			seen, err := second.Seen(other, key)
			if seen && !firstIsOver.Load() {
				err = errors.New("the key is recorded while the first runs")
			}
			looked <- err
		}()
		go func() {
			fresh, err := second.Once(other, record(key), func(ctx context.Context) error {
				if !firstIsOver.Load() {
					return errors.New("the duplicate's handler ran beside the first")
				}
				return e.do(ctx, name, nil)
			})
			result <- outcome{fresh, err}
		}()
		// This gives the duplicate time to begin its wait. If it arrives later, it finds the
		// key free, which must work as well.
		select {
		case r := <-result: // too early
			result <- r
		case <-time.After(h.window() / 2):
		}
		firstIsOver.Store(true)
		return e.do(ctx, name, errHandler)
	})
	if !errors.Is(err, errHandler) {
		err = fmt.Errorf("the first delivery: %w; want the handler's error", orNil(err))
	} else {
		err = nil
	}
	if r := <-result; r.err != nil || !r.fresh {
		err = errors.Join(err, fmt.Errorf("the duplicate of a failed delivery: fresh %v, %w; want true", r.fresh, orNil(r.err)))
	}
	return errors.Join(err, <-looked, e.expect(ctx, "at the end", key, name, true, 1))
}

// storm: several consumers get every event in different orders, fail the first time and then at
// random, and retry until they succeed. Each event has one effect and is fresh once.
func storm(ctx context.Context, h Harness) error {
	const consumers, events = 6, 15
	e := newEffects(h)
	var fresh, runs [events]atomic.Int32
	errs := make([]error, consumers)
	var wg sync.WaitGroup
	for c := range consumers {
		store := h.Store
		if c%2 == 1 {
			store = h.Peer
		}
		order := rand.Perm(events)
		wg.Go(func() {
			for _, i := range order {
				for {
					ok, err := store.Once(ctx, record(fmt.Sprintf("group:%d", i)), func(ctx context.Context) error {
						var result error
						if runs[i].Add(1) == 1 || rand.IntN(3) == 0 {
							result = errHandler
						}
						return e.do(ctx, fmt.Sprintf("event-%d", i), result)
					})
					if errors.Is(err, errHandler) {
						continue
					}
					if err != nil {
						errs[c] = err
						return
					}
					if ok {
						fresh[i].Add(1)
					}
					break
				}
			}
		})
	}
	wg.Wait()
	err := errors.Join(errs...)
	for i := range events {
		if n := fresh[i].Load(); n != 1 {
			err = errors.Join(err, fmt.Errorf("event %d was fresh %d times", i, n))
		}
		err = errors.Join(err, e.expect(ctx, fmt.Sprintf("event %d", i), fmt.Sprintf("group:%d", i), fmt.Sprintf("event-%d", i), true, 1))
	}
	return err
}

// orNil makes a nil error printable with %w.
func orNil(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

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
	"github.com/millrace-go/millrace/internal/steps"
)

// batchTakeover: a batch waits for a call that holds one of its keys. The batch has the effect
// of that key if the call fails, and not if it succeeds.
func batchTakeover(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, result := range []error{errHandler, nil} {
		e := newEffects(h)
		name := fmt.Sprintf("held-%t", result == nil)
		keys := []string{"group:a-" + name, "group:" + name, "group:z-" + name}
		type end struct {
			fresh []int
			err   error
		}
		over := make(chan end, 1)
		other := ctx // not the handler's, which may end with it
		_, err := h.Store.Once(ctx, record(keys[1]), func(ctx context.Context) error {
			go func() {
				fresh, err := batchOf(h.Peer).OnceBatch(other, records(keys...), func(ctx context.Context, fresh []int) error {
					for _, i := range fresh {
						if err := e.do(ctx, keys[i], nil); err != nil {
							return err
						}
					}
					return nil
				})
				over <- end{fresh, err}
			}()
			select { // most likely it waits now; if not, it must work as well
			case early := <-over:
				over <- early
			case <-time.After(h.window() / 2):
			}
			return e.do(ctx, keys[1], result)
		})
		if !errors.Is(err, result) {
			return fmt.Errorf("the call that holds the key: %w, want %w", orNil(err), orNil(result))
		}
		got, want := <-over, []int{0, 2}
		if result != nil {
			want = []int{0, 1, 2}
		}
		steps.Do(positions("the batch that waited", got.fresh, got.err, want...))
		for _, key := range keys {
			steps.Do(e.expect(ctx, "at the end", key, key, true, 1))
		}
	}
	return nil
}

// batchStorm: several consumers get overlapping batches in different orders, fail every third
// time, the first one included, and retry until they succeed.
func batchStorm(ctx context.Context, h Harness) error {
	const consumers, batches, keys = 5, 8, 30
	e := newEffects(h)
	var fresh [keys]atomic.Int32
	var runs atomic.Int32
	errs := make([]error, consumers)
	var wg sync.WaitGroup
	for c := range consumers {
		store := batchOf(h.Store)
		if c%2 == 1 {
			store = batchOf(h.Peer)
		}
		wg.Go(func() {
			for range batches {
				picked := rand.Perm(keys)[:12]
				var batch []driver.Record
				for _, k := range picked {
					batch = append(batch, record(fmt.Sprintf("group:%d", k)))
				}
				for {
					got, err := store.OnceBatch(ctx, batch, func(ctx context.Context, fresh []int) error {
						var result error
						if runs.Add(1)%3 == 1 {
							result = errHandler
						}
						for _, i := range fresh {
							if err := e.do(ctx, fmt.Sprintf("event-%d", picked[i]), result); err != nil {
								return err
							}
						}
						return result
					})
					if errors.Is(err, errHandler) {
						continue
					}
					if err != nil {
						errs[c] = err
						return
					}
					for _, i := range got {
						fresh[picked[i]].Add(1)
					}
					break
				}
			}
		})
	}
	wg.Wait()
	err := errors.Join(errs...)
	for k := range keys {
		n := int(fresh[k].Load())
		if n > 1 {
			err = errors.Join(err, fmt.Errorf("key %d was new %d times", k, n))
		}
		err = errors.Join(err, e.expect(ctx, fmt.Sprintf("key %d", k), fmt.Sprintf("group:%d", k), fmt.Sprintf("event-%d", k), n == 1, n))
	}
	return err
}

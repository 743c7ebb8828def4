package countertest

import (
	"context"
	"fmt"
	"sync"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

// forgetOne keeps the delta of the same key in another batch.
func forgetOne(ctx context.Context, h StoreHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	var first []string
	for i := range 2 {
		steps.Do(add(ctx, h.Store, name, driver.Delta{Key: "a", N: int64(1 + i)}))
		_, ids := steps.Two(takeAll(ctx, h.Store, name, 10))
		if i == 0 {
			first = ids
		}
	}
	steps.Do(pending(ctx, h.Store, name, "a", 3))
	steps.Do(h.Store.Forget(ctx, name, first))
	steps.Do(pending(ctx, h.Store, name, "a", 2))
	aside, err := h.peer().Aside(ctx, name)
	if err == nil && (len(aside) != 1 || len(aside[0].Deltas) != 1 || aside[0].Deltas[0].N != 2) {
		err = fmt.Errorf("aside %v, want the second batch", aside)
	}
	return err
}

func forgetTwice(ctx context.Context, h StoreHarness) (err error) {
	defer steps.End(&err)
	name := fresh()
	steps.Do(add(ctx, h.Store, name, driver.Delta{Key: "a", N: 1}))
	_, ids := steps.Two(takeAll(ctx, h.Store, name, 10))
	for range 2 {
		steps.Named(h.Store.Forget(ctx, name, append(ids, "never-was")), "forget")
	}
	return nil
}

// concurrentAdds has concurrent writers and flushers: each addition is in one batch.
func concurrentAdds(ctx context.Context, h StoreHarness) error {
	const writers, each = 8, 100
	name := fresh()
	stores := []driver.Store{h.Store, h.peer()}
	errs := make(chan error, writers+len(stores))
	written := make(chan struct{})
	var adding, taking sync.WaitGroup
	for w := range writers {
		adding.Go(func() {
			for i := range each {
				if err := stores[w%2].Add(ctx, name, fmt.Sprint("key-", i%5), 1); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	var mu sync.Mutex
	sums := map[string]int64{}
	var ids []string
	for _, s := range stores {
		taking.Go(func() {
			for last := false; !last; {
				select {
				case <-written:
					last = true
				default:
				}
				for {
					taken, err := s.Take(ctx, name, 2)
					if err != nil {
						errs <- err
						return
					}
					if len(taken) == 0 {
						break
					}
					mu.Lock()
					err = addUp(taken, 2, sums, &ids)
					mu.Unlock()
					if err != nil {
						errs <- err
						return
					}
				}
			}
		})
	}
	adding.Wait()
	close(written)
	taking.Wait()
	select {
	case err := <-errs:
		return err
	default:
	}
	want := map[string]int64{}
	for i := range 5 {
		want[fmt.Sprint("key-", i)] = writers * each / 5
	}
	return expect("taken by all", sums, want)
}

package coalescetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

const callers, rounds = 8, 10

// together calls f from every caller at once, through both instances in turn.
func together(h Harness, f func(i int, s driver.Store) error) error {
	errs := make([]error, callers)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range callers {
		s := h.Store
		if i%2 == 1 {
			s = h.Peer
		}
		wg.Go(func() {
			<-start
			errs[i] = f(i, s)
		})
	}
	close(start)
	wg.Wait()
	return errors.Join(errs...)
}

// tally counts the outcomes of concurrent requests.
type tally struct {
	mu     sync.Mutex
	n      map[driver.Outcome]int
	winner driver.Ticket // the last upgraded ticket, otherwise the published one
}

func (c *tally) add(d driver.Decision) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[driver.Outcome]int{}
	}
	if c.n[d.Outcome]++; d.Mine() && d.Ticket.Version > c.winner.Version {
		c.winner = d.Ticket
	}
}

// concurrentRequests: of many concurrent requests, one publishes.
func concurrentRequests(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for round := range rounds {
		var c tally
		err := together(h, func(_ int, s driver.Store) error {
			d, err := s.Request(ctx, key, driver.High, false, ttl)
			if err == nil {
				c.add(d)
			}
			return err
		})
		if err != nil || c.n[driver.Published] != 1 || c.n[driver.AlreadyProcessing] != callers-1 {
			return fmt.Errorf("round %d: %v, %w; want one Published and %d AlreadyProcessing", round, c.n, orNil(err), callers-1)
		}
		steps.Do(release(ctx, h.Store, c.winner, true))
	}
	return nil
}

// concurrentUpgrades: of many high requests for a low lock, one upgrades it.
func concurrentUpgrades(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for round := range rounds {
		low := steps.Get(ask(ctx, h.Store, key, driver.Low, false, driver.Published))
		var c tally
		err = together(h, func(i int, s driver.Store) error {
			p := driver.High
			if i >= callers-2 {
				p = driver.Low
			}
			d, err := s.Request(ctx, key, p, false, ttl)
			if err == nil {
				c.add(d)
			}
			return err
		})
		if err != nil || c.n[driver.Upgraded] != 1 || c.n[driver.AlreadyProcessing] != callers-1 {
			return fmt.Errorf("round %d: %v, %w; want one Upgraded and %d AlreadyProcessing", round, c.n, orNil(err), callers-1)
		}
		steps.Do(release(ctx, h.Peer, low, false))
		steps.Do(release(ctx, h.Store, c.winner, true))
	}
	return nil
}

// concurrentRelease: of many concurrent releases exactly one succeeds.
func concurrentRelease(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for round := range rounds {
		t := steps.Get(ask(ctx, h.Store, key, driver.Low, false, driver.Published))
		var n atomic.Int32
		err = together(h, func(_ int, s driver.Store) error {
			released, err := s.Release(ctx, t)
			if released {
				n.Add(1)
			}
			return err
		})
		if err != nil || n.Load() != 1 {
			return fmt.Errorf("round %d: %d of %d releases succeeded, %w; want one", round, n.Load(), callers, orNil(err))
		}
	}
	return nil
}

// concurrentDone: of many calls that end a marked run, one begins the next run.
func concurrentDone(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for round := range rounds {
		t := steps.Get(ask(ctx, h.Store, key, driver.Low, false, driver.Published))
		steps.Get(ask(ctx, h.Peer, key, driver.Low, true, driver.AlreadyProcessing))
		var mu sync.Mutex
		var next []driver.Ticket
		err = together(h, func(_ int, s driver.Store) error {
			end, err := s.Done(ctx, t, ttl)
			mu.Lock()
			defer mu.Unlock()
			if end.Released || end.Again {
				next = append(next, end.Next)
			}
			return err
		})
		if err != nil || len(next) != 1 {
			return fmt.Errorf("round %d: %d of %d ends succeeded, %w; want one", round, len(next), callers, orNil(err))
		}
		steps.Do(done(ctx, h.Peer, next[0], true))
	}
	return nil
}

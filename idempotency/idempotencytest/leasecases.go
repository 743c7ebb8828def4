package idempotencytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

// tokensGrow: every claim's token is above the earlier ones, however the claim before ended,
// and also after it was pruned.
func tokensGrow(ctx context.Context, h LeaseHarness) (err error) {
	defer steps.End(&err)
	r := record("group:1")
	last := int64(0)
	ends := []func(c driver.Claim) error{
		func(c driver.Claim) error { return h.Store.Release(ctx, c) },
		func(driver.Claim) error { return h.Backdate(ctx, r.Key, 2*minute) },
		func(c driver.Claim) error {
			if err := h.Store.Release(ctx, c); err != nil {
				return err
			}
			if err := h.Backdate(ctx, r.Key, 2*minute); err != nil {
				return err
			}
			_, err := h.Store.Prune(ctx, minute, 100)
			// A row is pruned only if it is older than the clock's resolution.
			<-time.After(5 * time.Millisecond)
			return err
		},
	}
	for i := range 4 * len(ends) {
		s := h.Store
		if i%2 == 1 {
			s = h.Peer
		}
		c, err := claim(ctx, s, r, minute, driver.Claimed)
		steps.Named(err, "claim %d", i+1)
		if c.Token <= last {
			return fmt.Errorf("claim %d has the token %d after %d", i+1, c.Token, last)
		}
		last = c.Token
		steps.Do(ends[i%len(ends)](c))
	}
	return nil
}

// leaseKeys: keys are compared byte by byte, and fingerprints too.
func leaseKeys(ctx context.Context, h LeaseHarness) (err error) {
	defer steps.End(&err)
	for i, key := range append(odd(), long()...) {
		r := record(key)
		r.Fingerprint = "print of " + key
		c, err := claim(ctx, h.Store, r, minute, driver.Claimed)
		steps.Named(err, "key %d", i)
		steps.Named(must("Complete", h.Store.Complete(ctx, c, []byte(key))), "key %d (%.40q)", i, key)
		done, err := claim(ctx, h.Peer, r, minute, driver.Done)
		steps.Named(err, "key %d", i)
		if string(done.Result) != key {
			return fmt.Errorf("key %d (%.40q) has the result of another", i, key)
		}
	}
	return nil
}

func leaseArguments(ctx context.Context, h LeaseHarness) error {
	if _, err := h.Store.Claim(ctx, record(""), minute); !errors.Is(err, driver.ErrEmptyKey) {
		return fmt.Errorf("Claim of an empty key: %w; want ErrEmptyKey", orNil(err))
	}
	for _, ttl := range []time.Duration{0, -time.Second, time.Microsecond} {
		if c, err := h.Store.Claim(ctx, record("group:1"), ttl); err == nil {
			return fmt.Errorf("Claim for %v: %v without an error", ttl, c.State)
		}
	}
	c, err := claim(ctx, h.Store, record("group:1"), minute, driver.Claimed)
	if err != nil {
		return err
	}
	if err := h.Store.Extend(ctx, c, 0); err == nil {
		return errors.New("Extend for 0 without an error")
	}
	return nil
}

// oneWinner: many workers claim at once, in several rounds; one gets the key each time.
func oneWinner(ctx context.Context, h LeaseHarness) error {
	const workers, rounds = 8, 10
	r := record("group:1")
	for round := range rounds {
		var winners, others atomic.Int32
		won := make(chan driver.Claim, workers)
		errs := make([]error, workers)
		var wg sync.WaitGroup
		for w := range workers {
			s := h.Store
			if w%2 == 1 {
				s = h.Peer
			}
			wg.Go(func() {
				c, err := s.Claim(ctx, r, minute)
				switch {
				case err != nil:
					errs[w] = err
				case c.State == driver.Claimed:
					winners.Add(1)
					won <- c
				case c.State == driver.Taken:
					others.Add(1)
				}
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil || winners.Load() != 1 || others.Load() != workers-1 {
			return fmt.Errorf("round %d: of %d workers %d claimed the key and %d found it taken, %w",
				round, workers, winners.Load(), others.Load(), orNil(err))
		}
		c := <-won
		if round%2 == 0 {
			if err := must("the winner's Release", h.Store.Release(ctx, c)); err != nil {
				return err
			}
		} else if err := h.Backdate(ctx, r.Key, 2*minute); err != nil {
			return err
		}
	}
	return nil
}

func leaseCancelled(ctx context.Context, h LeaseHarness) error {
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := h.Store.Claim(done, record("group:1"), minute); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("a cancelled Claim: %w; want context.Canceled", orNil(err))
	}
	c, err := claim(ctx, h.Store, record("group:1"), minute, driver.Claimed)
	if err != nil {
		return err
	}
	if err := h.Store.Complete(done, c, nil); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("a cancelled Complete: %w; want context.Canceled", orNil(err))
	}
	return must("Complete", h.Store.Complete(ctx, c, nil))
}

// otherRequest: a different fingerprint is refused in every state but released, which keeps no
// data of the first request.
func otherRequest(ctx context.Context, h LeaseHarness) (err error) {
	defer steps.End(&err)
	mine, other := record("group:1"), record("group:1")
	mine.Fingerprint, other.Fingerprint = "f1", "F1"
	steps.Get(claim(ctx, h.Store, mine, minute, driver.Claimed))
	if _, err := claim(ctx, h.Peer, other, minute, driver.Mismatch); err != nil {
		return fmt.Errorf("while the first is running: %w", err)
	}
	steps.Do(h.Backdate(ctx, mine.Key, 2*minute))
	if _, err := claim(ctx, h.Peer, other, minute, driver.Mismatch); err != nil {
		return fmt.Errorf("after the first's deadline: %w", err)
	}
	c, err := claim(ctx, h.Store, mine, minute, driver.Claimed)
	steps.Named(err, "the first's own retry")
	steps.Named(h.Store.Release(ctx, c), "Release")
	if c, err = claim(ctx, h.Peer, other, minute, driver.Claimed); err != nil {
		return fmt.Errorf("after a release: %w", err)
	}
	steps.Named(h.Peer.Complete(ctx, c, []byte("other's")), "Complete")
	m, err := claim(ctx, h.Store, mine, minute, driver.Mismatch)
	steps.Named(err, "after the other's end")
	if len(m.Result) != 0 {
		return errors.New("a mismatch hands out the other request's result")
	}
	return nil
}

func results(ctx context.Context, h LeaseHarness) (err error) {
	defer steps.End(&err)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for i, result := range [][]byte{nil, {}, all, []byte("한글 🎟"), bytes.Repeat(all, 2000)} {
		r := record(fmt.Sprintf("group:%d", i))
		c := steps.Get(claim(ctx, h.Store, r, minute, driver.Claimed))
		steps.Named(h.Store.Complete(ctx, c, result), "Complete")
		done := steps.Get(claim(ctx, h.Peer, r, minute, driver.Done))
		if !bytes.Equal(done.Result, result) {
			return fmt.Errorf("a result of %d bytes came back with %d, or others", len(result), len(done.Result))
		}
	}
	return nil
}

package idempotencytest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/sqltx"
)

// tokensGrow: every claim's token is above those before, however the one before
// ended, and also when nothing is left of it.
func tokensGrow(ctx context.Context, h LeaseHarness) error {
	r := record("group:1")
	last := int64(0)
	ends := []func(c idempotency.Claim) error{
		func(c idempotency.Claim) error { return h.Store.Release(ctx, c) },
		func(idempotency.Claim) error { return h.Backdate(ctx, r.Key, 2*minute) },
		func(c idempotency.Claim) error {
			if err := h.Store.Release(ctx, c); err != nil {
				return err
			}
			if err := h.Backdate(ctx, r.Key, 2*minute); err != nil {
				return err
			}
			_, err := h.Store.Prune(ctx, time.Now().Add(-minute), 100)
			// What is pruned for real is older than any clock's resolution.
			<-time.After(5 * time.Millisecond)
			return err
		},
	}
	for i := range 4 * len(ends) {
		s := h.Store
		if i%2 == 1 {
			s = h.Peer
		}
		c, err := claim(ctx, s, r, minute, idempotency.Claimed)
		if err != nil {
			return fmt.Errorf("claim %d: %w", i+1, err)
		}
		if c.Token <= last {
			return fmt.Errorf("claim %d has the token %d after %d", i+1, c.Token, last)
		}
		last = c.Token
		if err := ends[i%len(ends)](c); err != nil {
			return err
		}
	}
	return nil
}

// leaseKeys: keys are compared byte by byte, and fingerprints too.
func leaseKeys(ctx context.Context, h LeaseHarness) error {
	for i, key := range append(odd(), long()...) {
		r := record(key)
		r.Fingerprint = "print of " + key
		c, err := claim(ctx, h.Store, r, minute, idempotency.Claimed)
		if err != nil {
			return fmt.Errorf("key %d: %w", i, err)
		}
		if err := must("Complete", h.Store.Complete(ctx, c, []byte(key))); err != nil {
			return fmt.Errorf("key %d (%.40q): %w", i, key, err)
		}
		done, err := claim(ctx, h.Peer, r, minute, idempotency.Done)
		if err != nil {
			return fmt.Errorf("key %d: %w", i, err)
		}
		if string(done.Result) != key {
			return fmt.Errorf("key %d (%.40q) has the result of another", i, key)
		}
	}
	return nil
}

func leaseArguments(ctx context.Context, h LeaseHarness) error {
	if _, err := h.Store.Claim(ctx, record(""), minute); !errors.Is(err, idempotency.ErrEmptyKey) {
		return fmt.Errorf("Claim of an empty key: %w; want ErrEmptyKey", orNil(err))
	}
	for _, ttl := range []time.Duration{0, -time.Second, time.Microsecond} {
		if c, err := h.Store.Claim(ctx, record("group:1"), ttl); err == nil {
			return fmt.Errorf("Claim for %v: %v without an error", ttl, c.State)
		}
	}
	c, err := claim(ctx, h.Store, record("group:1"), minute, idempotency.Claimed)
	if err != nil {
		return err
	}
	if err := h.Store.Extend(ctx, c, 0); err == nil {
		return errors.New("Extend for 0 without an error")
	}
	return nil
}

// oneWinner: many workers claim at once, again and again; one gets the key each
// time.
func oneWinner(ctx context.Context, h LeaseHarness) error {
	const workers, rounds = 8, 10
	r := record("group:1")
	for round := range rounds {
		var winners, others atomic.Int32
		won := make(chan idempotency.Claim, workers)
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
				case c.State == idempotency.Claimed:
					winners.Add(1)
					won <- c
				case c.State == idempotency.Taken:
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
	c, err := claim(ctx, h.Store, record("group:1"), minute, idempotency.Claimed)
	if err != nil {
		return err
	}
	if err := h.Store.Complete(done, c, nil); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("a cancelled Complete: %w; want context.Canceled", orNil(err))
	}
	return must("Complete", h.Store.Complete(ctx, c, nil))
}

func leasePrune(ctx context.Context, h LeaseHarness) error {
	end := map[string]func(c idempotency.Claim) error{
		"completed": func(c idempotency.Claim) error { return h.Store.Complete(ctx, c, []byte("kept")) },
		"released":  func(c idempotency.Claim) error { return h.Store.Release(ctx, c) },
		"crashed":   func(idempotency.Claim) error { return nil },
	}
	for name, f := range end {
		for _, age := range []string{"old", "young"} {
			r := record("group:" + age + "-" + name)
			c, err := claim(ctx, h.Store, r, minute, idempotency.Claimed)
			if err != nil {
				return err
			}
			if err := must(name, f(c)); err != nil {
				return err
			}
			by := 2 * minute
			if age == "old" {
				by = 2 * time.Hour
			}
			if err := h.Backdate(ctx, r.Key, by); err != nil {
				return err
			}
		}
	}
	running, err := claim(ctx, h.Store, record("group:running"), minute, idempotency.Claimed)
	if err != nil {
		return err
	}
	before := time.Now().Add(-time.Hour)
	for i, want := range []int{2, 1, 0} {
		if n, err := h.Peer.Prune(ctx, before, 2); n != want || err != nil {
			return fmt.Errorf("Prune %d with a limit of 2 deleted %d, %w; want %d", i+1, n, orNil(err), want)
		}
	}
	if _, err := claim(ctx, h.Store, record("group:old-completed"), minute, idempotency.Claimed); err != nil {
		return fmt.Errorf("a pruned key: %w", err)
	}
	if _, err := claim(ctx, h.Store, record("group:young-completed"), minute, idempotency.Done); err != nil {
		return fmt.Errorf("a key that is younger: %w", err)
	}
	// A lease that runs on is never pruned.
	if _, err := h.Peer.Prune(ctx, time.Now().Add(24*time.Hour), 100); err != nil {
		return fmt.Errorf("Prune of everything: %w", err)
	}
	if _, err := claim(ctx, h.Peer, record("group:running"), minute, idempotency.Taken); err != nil {
		return fmt.Errorf("after Prune of everything: %w", err)
	}
	return must("Complete after Prune", h.Store.Complete(ctx, running, nil))
}

func leasePruneBadLimit(ctx context.Context, h LeaseHarness) error {
	for _, limit := range []int{0, -1} {
		if n, err := h.Store.Prune(ctx, time.Now(), limit); n != 0 || err == nil {
			return fmt.Errorf("Prune with a limit of %d deleted %d without an error", limit, n)
		}
	}
	return nil
}

// leaseTransactions: a claim must be visible at once; its end can be part of a
// transaction.
func leaseTransactions(ctx context.Context, h LeaseHarness) error {
	r := record("group:1")
	err := sqltx.Do(ctx, h.DB, func(ctx context.Context, _ *sql.Tx) error {
		_, err := h.Store.Claim(ctx, r, minute)
		return err
	})
	if !errors.Is(err, idempotency.ErrInTransaction) {
		return fmt.Errorf("Claim inside a transaction: %w; want ErrInTransaction", orNil(err))
	}
	c, err := claim(ctx, h.Store, r, minute, idempotency.Claimed)
	if err != nil {
		return err
	}
	for _, result := range []error{errHandler, nil} {
		err := sqltx.Do(ctx, h.DB, func(ctx context.Context, _ *sql.Tx) error {
			if err := must("Complete in a transaction", h.Store.Complete(ctx, c, nil)); err != nil {
				return err
			}
			return result
		})
		want := idempotency.Taken
		if result == nil {
			want = idempotency.Done
		}
		if result == nil && err != nil || !errors.Is(err, result) {
			return err
		}
		if _, err := claim(ctx, h.Peer, r, minute, want); err != nil {
			return fmt.Errorf("after a transaction that ended with %v: %w", result, err)
		}
	}
	return nil
}

package idempotencytest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

func claimComplete(ctx context.Context, h LeaseHarness) (err error) {
	defer steps.End(&err)
	r := record("group:1")
	c := steps.Get(claim(ctx, h.Store, r, minute, driver.Claimed))
	for _, s := range []driver.LeaseStore{h.Store, h.Peer} {
		taken := steps.Get(claim(ctx, s, r, minute, driver.Taken))
		if taken.Wait < minute/2 || taken.Wait > minute+time.Second {
			return fmt.Errorf("a key just claimed for %v is taken for %v more", minute, taken.Wait)
		}
	}
	steps.Get(claim(ctx, h.Peer, record("group:2"), minute, driver.Claimed))
	steps.Named(h.Store.Complete(ctx, c, []byte("paid")), "Complete")
	for range 2 {
		done := steps.Get(claim(ctx, h.Peer, r, minute, driver.Done))
		if string(done.Result) != "paid" {
			return fmt.Errorf("the result came back as %q, want %q", done.Result, "paid")
		}
	}
	// A completed key stays completed, regardless of the clock.
	steps.Do(h.Backdate(ctx, r.Key, time.Hour))
	_, err = claim(ctx, h.Store, r, minute, driver.Done)
	return err
}

func releaseFrees(ctx context.Context, h LeaseHarness) (err error) {
	defer steps.End(&err)
	r := record("group:1")
	first := steps.Get(claim(ctx, h.Store, r, minute, driver.Claimed))
	steps.Named(h.Store.Release(ctx, first), "Release")
	second := steps.Get(claim(ctx, h.Peer, r, minute, driver.Claimed))
	if second.Token <= first.Token {
		return fmt.Errorf("after a release the token went from %d to %d; want a higher one", first.Token, second.Token)
	}
	steps.Do(lost(ctx, "the claim that was released", h.Store, first))
	return must("the second claim's Complete", h.Peer.Complete(ctx, second, nil))
}

// takeoverAfterDeadline: as after a crash. The first worker is only slow, and none of its later
// calls may count.
func takeoverAfterDeadline(ctx context.Context, h LeaseHarness) (err error) {
	defer steps.End(&err)
	r := record("group:1")
	first := steps.Get(claim(ctx, h.Store, r, minute, driver.Claimed))
	steps.Do(h.Backdate(ctx, r.Key, 2*minute))
	second := steps.Get(claim(ctx, h.Peer, r, minute, driver.Claimed))
	if second.Token <= first.Token {
		return fmt.Errorf("the takeover's token is %d after %d; want a higher one", second.Token, first.Token)
	}
	steps.Do(lost(ctx, "the claim whose deadline passed", h.Store, first))
	steps.Named(h.Peer.Complete(ctx, second, []byte("second")), "the second claim's Complete")
	steps.Do(lost(ctx, "the first claim after the second's end", h.Store, first))
	done, err := claim(ctx, h.Store, r, minute, driver.Done)
	if err == nil && string(done.Result) != "second" {
		err = fmt.Errorf("the result is %q, want the second claim's", done.Result)
	}
	return err
}

// deadlineByTheClock: a lease is valid for exactly the requested time. If the machine is too
// slow to check it in its second half, a longer lease is tried.
func deadlineByTheClock(ctx context.Context, h LeaseHarness) error {
	for ttl := 150 * time.Millisecond; ; ttl *= 2 {
		if seen, err := watchLease(ctx, h, ttl); seen || err != nil {
			return err
		}
	}
}

// watchLease waits for a lease to end. It reports whether it saw the lease held in the second
// half of its time.
func watchLease(ctx context.Context, h LeaseHarness, ttl time.Duration) (seen bool, err error) {
	const slack = 10 * time.Millisecond
	r := record(fmt.Sprint("group:", ttl))
	began := time.Now()
	if _, err := claim(ctx, h.Store, r, ttl, driver.Claimed); err != nil {
		return false, err
	}
	claimed := time.Now() // the lease began between the two times
	for {
		asked := time.Now()
		c, err := h.Peer.Claim(ctx, r, ttl)
		if err != nil {
			return false, err
		}
		switch waited := time.Since(began); {
		case c.State == driver.Claimed && waited < ttl-slack:
			return false, fmt.Errorf("a lease of %v was taken over after %v", ttl, waited)
		case c.State == driver.Claimed:
			return seen, nil
		case c.State != driver.Taken:
			return false, fmt.Errorf("a key under a lease is %v", c.State)
		case asked.Sub(claimed) > 20*ttl:
			return false, fmt.Errorf("a lease of %v still holds after %v", ttl, asked.Sub(claimed))
		}
		seen = seen || asked.Sub(claimed) > ttl/2
		<-time.After(ttl / 15)
	}
}

func extend(ctx context.Context, h LeaseHarness) (err error) {
	defer steps.End(&err)
	r := record("group:1")
	c := steps.Get(claim(ctx, h.Store, r, minute, driver.Claimed))
	steps.Named(h.Store.Extend(ctx, c, time.Hour), "Extend")
	taken := steps.Get(claim(ctx, h.Peer, r, time.Hour, driver.Taken))
	if taken.Wait < 50*minute || taken.Wait > 61*minute {
		return fmt.Errorf("a lease extended to an hour runs on for %v", taken.Wait)
	}
	steps.Named(h.Store.Extend(ctx, c, minute), "Extend to less")
	steps.Do(h.Backdate(ctx, r.Key, 2*minute))
	_, err = claim(ctx, h.Peer, r, minute, driver.Claimed)
	return err
}

// lateIsNotLost: after the deadline, but before a takeover.
func lateIsNotLost(ctx context.Context, h LeaseHarness) (err error) {
	defer steps.End(&err)
	for name, change := range map[string]func(c driver.Claim) (driver.ClaimState, error){
		"extend": func(c driver.Claim) (driver.ClaimState, error) {
			return driver.Taken, h.Store.Extend(ctx, c, minute)
		},
		"complete": func(c driver.Claim) (driver.ClaimState, error) {
			return driver.Done, h.Store.Complete(ctx, c, nil)
		},
		"release": func(c driver.Claim) (driver.ClaimState, error) {
			return driver.Claimed, h.Store.Release(ctx, c)
		},
	} {
		r := record("group:" + name)
		c := steps.Get(claim(ctx, h.Store, r, minute, driver.Claimed))
		steps.Do(h.Backdate(ctx, r.Key, 2*minute))
		want, err := change(c)
		steps.Named(err, "%s after the deadline", name)
		if _, err := claim(ctx, h.Peer, r, minute, want); err != nil {
			return fmt.Errorf("after a late %s: %w", name, err)
		}
	}
	return nil
}

// endsOnce: a lease that has ended in one way cannot end in the other.
func endsOnce(ctx context.Context, h LeaseHarness) (err error) {
	defer steps.End(&err)
	completed := steps.Get(claim(ctx, h.Store, record("group:1"), minute, driver.Claimed))
	steps.Named(h.Store.Complete(ctx, completed, []byte("kept")), "Complete")
	for name, err := range map[string]error{
		"Release": h.Store.Release(ctx, completed), "Extend": h.Store.Extend(ctx, completed, minute),
	} {
		if !errors.Is(err, driver.ErrLeaseLost) {
			return fmt.Errorf("%s after Complete: %w; want ErrLeaseLost", name, orNil(err))
		}
	}
	steps.Get(claim(ctx, h.Peer, record("group:1"), minute, driver.Done))
	released := steps.Get(claim(ctx, h.Store, record("group:2"), minute, driver.Claimed))
	steps.Named(h.Store.Release(ctx, released), "Release")
	for name, err := range map[string]error{
		"Complete": h.Store.Complete(ctx, released, nil), "Extend": h.Store.Extend(ctx, released, minute),
	} {
		if !errors.Is(err, driver.ErrLeaseLost) {
			return fmt.Errorf("%s after Release: %w; want ErrLeaseLost", name, orNil(err))
		}
	}
	steps.Do(lost(ctx, "a claim that never was", h.Store, driver.Claim{Key: "group:3", Token: 1}))
	wrong := completed
	wrong.Token++
	return lost(ctx, "a token too high", h.Store, wrong)
}

// repeatedEnd: a call whose answer was lost can be repeated.
func repeatedEnd(ctx context.Context, h LeaseHarness) (err error) {
	defer steps.End(&err)
	c := steps.Get(claim(ctx, h.Store, record("group:1"), minute, driver.Claimed))
	for range 2 {
		steps.Named(h.Store.Complete(ctx, c, []byte("once")), "Complete again")
	}
	steps.Named(h.Store.Complete(ctx, c, []byte("twice")), "Complete again with another result")
	done := steps.Get(claim(ctx, h.Peer, record("group:1"), minute, driver.Done))
	if string(done.Result) != "once" {
		return fmt.Errorf("a repeated Complete changed the result to %q", done.Result)
	}
	c = steps.Get(claim(ctx, h.Store, record("group:2"), minute, driver.Claimed))
	for range 2 {
		steps.Named(h.Store.Release(ctx, c), "Release again")
	}
	return nil
}

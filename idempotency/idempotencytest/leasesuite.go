package idempotencytest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/millrace-go/millrace/idempotency"
)

// LeaseHarness is one empty lease store and what the suite needs around it.
type LeaseHarness struct {
	// Store under test; required.
	Store idempotency.LeaseStore
	// Peer is the same store as another process sees it; Store when nil.
	Peer idempotency.LeaseStore
	// Backdate moves a key's deadline, or the time at which it ended, into the
	// past by the given time; required.
	Backdate func(ctx context.Context, key string, by time.Duration) error
	// DB is the database that the store is on; nil for a store without
	// transactions.
	DB *sql.DB
	// Expires says that keys go by themselves and Prune does nothing.
	Expires bool
}

// LeaseCase is one promise of a lease store.
type LeaseCase struct {
	Name string
	// Needs lists what the harness must have; otherwise the case is n/a.
	Needs []Need
	// Run checks the promise on a fresh harness and returns how it was broken.
	Run func(ctx context.Context, h LeaseHarness) error
}

// Missing returns the first need that the harness does not meet, "" when it
// meets all.
func (c LeaseCase) Missing(h LeaseHarness) Need {
	for _, n := range c.Needs {
		if n == NeedDB && h.DB == nil || n == NeedPrune && h.Expires {
			return n
		}
	}
	return ""
}

// CheckLeases runs one case on a fresh harness.
func CheckLeases(ctx context.Context, c LeaseCase, h LeaseHarness) error {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	if h.Peer == nil {
		h.Peer = h.Store
	}
	return c.Run(ctx, h)
}

// RunLeases runs every case as a subtest on a harness of its own.
func RunLeases(t *testing.T, open func(t *testing.T) LeaseHarness) {
	t.Helper()
	for _, c := range LeaseCases() {
		t.Run(c.Name, func(t *testing.T) {
			h := open(t)
			if missing := c.Missing(h); missing != "" {
				t.Logf("n/a: %s", missing)
				return
			}
			if err := CheckLeases(t.Context(), c, h); err != nil {
				t.Error(err)
			}
		})
	}
}

// LeaseCases returns the suite for lease stores.
func LeaseCases() []LeaseCase {
	prune, db := []Need{NeedPrune}, []Need{NeedDB}
	return []LeaseCase{
		{Name: "claim-complete", Run: claimComplete},
		{Name: "release-frees", Run: releaseFrees},
		{Name: "takeover-after-deadline", Run: takeoverAfterDeadline},
		{Name: "deadline-by-the-clock", Run: deadlineByTheClock},
		{Name: "extend", Run: extend},
		{Name: "late-is-not-lost", Run: lateIsNotLost},
		{Name: "ends-once", Run: endsOnce},
		{Name: "repeated-end", Run: repeatedEnd},
		{Name: "other-request", Run: otherRequest},
		{Name: "tokens-grow", Run: tokensGrow},
		{Name: "results", Run: results},
		{Name: "lease-keys", Run: leaseKeys},
		{Name: "lease-arguments", Run: leaseArguments},
		{Name: "one-winner", Run: oneWinner},
		{Name: "http-herd", Run: httpHerd},
		{Name: "lease-cancelled-context", Run: leaseCancelled},
		{Name: "lease-prune", Needs: prune, Run: leasePrune},
		{Name: "lease-prune-bad-limit", Run: leasePruneBadLimit},
		{Name: "lease-transactions", Needs: db, Run: leaseTransactions},
	}
}

const minute = time.Minute

// claim claims the key of a record and checks the answer.
func claim(ctx context.Context, s idempotency.LeaseStore, r idempotency.Record, ttl time.Duration, want idempotency.ClaimState) (idempotency.Claim, error) {
	c, err := s.Claim(ctx, r, ttl)
	switch {
	case err != nil || c.State != want:
		return c, fmt.Errorf("claim of %.40q: %v, %w; want %v", r.Key, c.State, orNil(err), want)
	case c.Key != r.Key:
		return c, fmt.Errorf("claim of %.40q came back for %.40q", r.Key, c.Key)
	case want == idempotency.Claimed && c.Token <= 0:
		return c, fmt.Errorf("claim of %.40q has the token %d; want a positive one", r.Key, c.Token)
	case want == idempotency.Taken && (c.Wait < 0 || c.Wait > ttl+minute):
		return c, fmt.Errorf("claim of %.40q: taken for %v more", r.Key, c.Wait)
	}
	return c, nil
}

// lost checks that every change by a stale claim is refused.
func lost(ctx context.Context, when string, s idempotency.LeaseStore, c idempotency.Claim) error {
	for _, call := range []struct {
		name string
		err  error
	}{
		{"Extend", s.Extend(ctx, c, minute)},
		{"Complete", s.Complete(ctx, c, []byte("stale"))},
		{"Release", s.Release(ctx, c)},
	} {
		if !errors.Is(call.err, idempotency.ErrLeaseLost) {
			return fmt.Errorf("%s: %s: %w; want ErrLeaseLost", when, call.name, orNil(call.err))
		}
	}
	return nil
}

// must names the call that failed.
func must(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func claimComplete(ctx context.Context, h LeaseHarness) error {
	r := record("group:1")
	c, err := claim(ctx, h.Store, r, minute, idempotency.Claimed)
	if err != nil {
		return err
	}
	for _, s := range []idempotency.LeaseStore{h.Store, h.Peer} {
		taken, err := claim(ctx, s, r, minute, idempotency.Taken)
		if err != nil {
			return err
		}
		if taken.Wait < minute/2 || taken.Wait > minute+time.Second {
			return fmt.Errorf("a key just claimed for %v is taken for %v more", minute, taken.Wait)
		}
	}
	if _, err := claim(ctx, h.Peer, record("group:2"), minute, idempotency.Claimed); err != nil {
		return err
	}
	if err := must("Complete", h.Store.Complete(ctx, c, []byte("paid"))); err != nil {
		return err
	}
	for range 2 {
		done, err := claim(ctx, h.Peer, r, minute, idempotency.Done)
		if err != nil {
			return err
		}
		if string(done.Result) != "paid" {
			return fmt.Errorf("the result came back as %q, want %q", done.Result, "paid")
		}
	}
	// What is completed stays so, whatever the clock says.
	if err := h.Backdate(ctx, r.Key, time.Hour); err != nil {
		return err
	}
	_, err = claim(ctx, h.Store, r, minute, idempotency.Done)
	return err
}

func releaseFrees(ctx context.Context, h LeaseHarness) error {
	r := record("group:1")
	first, err := claim(ctx, h.Store, r, minute, idempotency.Claimed)
	if err != nil {
		return err
	}
	if err := must("Release", h.Store.Release(ctx, first)); err != nil {
		return err
	}
	second, err := claim(ctx, h.Peer, r, minute, idempotency.Claimed)
	if err != nil {
		return err
	}
	if second.Token <= first.Token {
		return fmt.Errorf("after a release the token went from %d to %d; want a higher one", first.Token, second.Token)
	}
	if err := lost(ctx, "the claim that was released", h.Store, first); err != nil {
		return err
	}
	return must("the second claim's Complete", h.Peer.Complete(ctx, second, nil))
}

// takeoverAfterDeadline: as after a crash. The first worker is only slow, and
// none of its calls may count any more.
func takeoverAfterDeadline(ctx context.Context, h LeaseHarness) error {
	r := record("group:1")
	first, err := claim(ctx, h.Store, r, minute, idempotency.Claimed)
	if err != nil {
		return err
	}
	if err := h.Backdate(ctx, r.Key, 2*minute); err != nil {
		return err
	}
	second, err := claim(ctx, h.Peer, r, minute, idempotency.Claimed)
	if err != nil {
		return err
	}
	if second.Token <= first.Token {
		return fmt.Errorf("the takeover's token is %d after %d; want a higher one", second.Token, first.Token)
	}
	if err := lost(ctx, "the claim whose deadline passed", h.Store, first); err != nil {
		return err
	}
	if err := must("the second claim's Complete", h.Peer.Complete(ctx, second, []byte("second"))); err != nil {
		return err
	}
	if err := lost(ctx, "the first claim after the second's end", h.Store, first); err != nil {
		return err
	}
	done, err := claim(ctx, h.Store, r, minute, idempotency.Done)
	if err == nil && string(done.Result) != "second" {
		err = fmt.Errorf("the result is %q, want the second claim's", done.Result)
	}
	return err
}

func deadlineByTheClock(ctx context.Context, h LeaseHarness) error {
	const ttl, slack = 150 * time.Millisecond, 10 * time.Millisecond
	r := record("group:1")
	began := time.Now()
	if _, err := claim(ctx, h.Store, r, ttl, idempotency.Claimed); err != nil {
		return err
	}
	for {
		c, err := h.Peer.Claim(ctx, r, ttl)
		if err != nil {
			return err
		}
		waited := time.Since(began)
		switch {
		case c.State == idempotency.Claimed && waited < ttl-slack:
			return fmt.Errorf("a lease of %v was taken over after %v", ttl, waited)
		case c.State == idempotency.Claimed:
			return nil
		case c.State != idempotency.Taken:
			return fmt.Errorf("a key under a lease is %v", c.State)
		case waited > 20*ttl:
			return fmt.Errorf("a lease of %v still holds after %v", ttl, waited)
		}
		<-time.After(ttl / 15)
	}
}

func extend(ctx context.Context, h LeaseHarness) error {
	r := record("group:1")
	c, err := claim(ctx, h.Store, r, minute, idempotency.Claimed)
	if err != nil {
		return err
	}
	if err := must("Extend", h.Store.Extend(ctx, c, time.Hour)); err != nil {
		return err
	}
	taken, err := claim(ctx, h.Peer, r, time.Hour, idempotency.Taken)
	if err != nil {
		return err
	}
	if taken.Wait < 50*minute || taken.Wait > 61*minute {
		return fmt.Errorf("a lease extended to an hour runs on for %v", taken.Wait)
	}
	if err := must("Extend to less", h.Store.Extend(ctx, c, minute)); err != nil {
		return err
	}
	if err := h.Backdate(ctx, r.Key, 2*minute); err != nil {
		return err
	}
	_, err = claim(ctx, h.Peer, r, minute, idempotency.Claimed)
	return err
}

// lateIsNotLost: after the deadline, but before anybody took over.
func lateIsNotLost(ctx context.Context, h LeaseHarness) error {
	for name, change := range map[string]func(c idempotency.Claim) (idempotency.ClaimState, error){
		"extend": func(c idempotency.Claim) (idempotency.ClaimState, error) {
			return idempotency.Taken, h.Store.Extend(ctx, c, minute)
		},
		"complete": func(c idempotency.Claim) (idempotency.ClaimState, error) {
			return idempotency.Done, h.Store.Complete(ctx, c, nil)
		},
		"release": func(c idempotency.Claim) (idempotency.ClaimState, error) {
			return idempotency.Claimed, h.Store.Release(ctx, c)
		},
	} {
		r := record("group:" + name)
		c, err := claim(ctx, h.Store, r, minute, idempotency.Claimed)
		if err != nil {
			return err
		}
		if err := h.Backdate(ctx, r.Key, 2*minute); err != nil {
			return err
		}
		want, err := change(c)
		if err := must(name+" after the deadline", err); err != nil {
			return err
		}
		if _, err := claim(ctx, h.Peer, r, minute, want); err != nil {
			return fmt.Errorf("after a late %s: %w", name, err)
		}
	}
	return nil
}

// endsOnce: what has ended in one way cannot end in the other.
func endsOnce(ctx context.Context, h LeaseHarness) error {
	completed, err := claim(ctx, h.Store, record("group:1"), minute, idempotency.Claimed)
	if err != nil {
		return err
	}
	if err := must("Complete", h.Store.Complete(ctx, completed, []byte("kept"))); err != nil {
		return err
	}
	for name, err := range map[string]error{
		"Release": h.Store.Release(ctx, completed), "Extend": h.Store.Extend(ctx, completed, minute),
	} {
		if !errors.Is(err, idempotency.ErrLeaseLost) {
			return fmt.Errorf("%s after Complete: %w; want ErrLeaseLost", name, orNil(err))
		}
	}
	if _, err := claim(ctx, h.Peer, record("group:1"), minute, idempotency.Done); err != nil {
		return err
	}
	released, err := claim(ctx, h.Store, record("group:2"), minute, idempotency.Claimed)
	if err != nil {
		return err
	}
	if err := must("Release", h.Store.Release(ctx, released)); err != nil {
		return err
	}
	for name, err := range map[string]error{
		"Complete": h.Store.Complete(ctx, released, nil), "Extend": h.Store.Extend(ctx, released, minute),
	} {
		if !errors.Is(err, idempotency.ErrLeaseLost) {
			return fmt.Errorf("%s after Release: %w; want ErrLeaseLost", name, orNil(err))
		}
	}
	if err := lost(ctx, "a claim that never was", h.Store, idempotency.Claim{Key: "group:3", Token: 1}); err != nil {
		return err
	}
	wrong := completed
	wrong.Token++
	return lost(ctx, "a token too high", h.Store, wrong)
}

// repeatedEnd: a call whose answer was lost can be made again.
func repeatedEnd(ctx context.Context, h LeaseHarness) error {
	c, err := claim(ctx, h.Store, record("group:1"), minute, idempotency.Claimed)
	if err != nil {
		return err
	}
	for range 2 {
		if err := must("Complete again", h.Store.Complete(ctx, c, []byte("once"))); err != nil {
			return err
		}
	}
	if err := must("Complete again with another result", h.Store.Complete(ctx, c, []byte("twice"))); err != nil {
		return err
	}
	done, err := claim(ctx, h.Peer, record("group:1"), minute, idempotency.Done)
	if err != nil {
		return err
	}
	if string(done.Result) != "once" {
		return fmt.Errorf("a repeated Complete changed the result to %q", done.Result)
	}
	if c, err = claim(ctx, h.Store, record("group:2"), minute, idempotency.Claimed); err != nil {
		return err
	}
	for range 2 {
		if err := must("Release again", h.Store.Release(ctx, c)); err != nil {
			return err
		}
	}
	return nil
}

// otherRequest: a fingerprint that differs is refused in every state but
// released, in which nothing is left of the first request.
func otherRequest(ctx context.Context, h LeaseHarness) error {
	mine, other := record("group:1"), record("group:1")
	mine.Fingerprint, other.Fingerprint = "f1", "F1"
	c, err := claim(ctx, h.Store, mine, minute, idempotency.Claimed)
	if err != nil {
		return err
	}
	if _, err := claim(ctx, h.Peer, other, minute, idempotency.Mismatch); err != nil {
		return fmt.Errorf("while the first is running: %w", err)
	}
	if err := h.Backdate(ctx, mine.Key, 2*minute); err != nil {
		return err
	}
	if _, err := claim(ctx, h.Peer, other, minute, idempotency.Mismatch); err != nil {
		return fmt.Errorf("after the first's deadline: %w", err)
	}
	if c, err = claim(ctx, h.Store, mine, minute, idempotency.Claimed); err != nil {
		return fmt.Errorf("the first's own retry: %w", err)
	}
	if err := must("Release", h.Store.Release(ctx, c)); err != nil {
		return err
	}
	if c, err = claim(ctx, h.Peer, other, minute, idempotency.Claimed); err != nil {
		return fmt.Errorf("after a release: %w", err)
	}
	if err := must("Complete", h.Peer.Complete(ctx, c, []byte("other's"))); err != nil {
		return err
	}
	m, err := claim(ctx, h.Store, mine, minute, idempotency.Mismatch)
	if err != nil {
		return fmt.Errorf("after the other's end: %w", err)
	}
	if len(m.Result) != 0 {
		return errors.New("a mismatch hands out the other request's result")
	}
	return nil
}

func results(ctx context.Context, h LeaseHarness) error {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for i, result := range [][]byte{nil, {}, all, []byte("한글 🎟"), bytes.Repeat(all, 2000)} {
		r := record(fmt.Sprintf("group:%d", i))
		c, err := claim(ctx, h.Store, r, minute, idempotency.Claimed)
		if err != nil {
			return err
		}
		if err := must("Complete", h.Store.Complete(ctx, c, result)); err != nil {
			return err
		}
		done, err := claim(ctx, h.Peer, r, minute, idempotency.Done)
		if err != nil {
			return err
		}
		if !bytes.Equal(done.Result, result) {
			return fmt.Errorf("a result of %d bytes came back with %d, or others", len(result), len(done.Result))
		}
	}
	return nil
}

// Package leasemodel checks a lease store against a model of a dozen lines: several workers
// make random calls, and the store must answer like the model.
//
//	property                                            proven by
//	a correct store agrees with the model               TestLeaseModel of each store
//	a store that breaks a rule is caught                TestBrokenStoresAreCaught
package leasemodel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/idempotency/driver"
)

// Backdate moves a key's deadline, or the time at which it ended, into the past.
type Backdate func(ctx context.Context, key string, by time.Duration) error

// entry is the model of one key.
type entry struct {
	state       string // "", "claimed", "expired", "released", "completed"
	token       int64
	fingerprint string
	result      string
}

// Check runs random histories on the store. It opens one store, and gives each history its own
// keys.
func Check(t *testing.T, open func(t testing.TB) (driver.LeaseStore, Backdate)) {
	t.Helper()
	store, backdate := open(t)
	var histories atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		if err := run(t, store, backdate, fmt.Sprintf("h%d:", histories.Add(1))); err != nil {
			t.Fatal(err)
		}
	})
}

// run runs one history and returns an error if the store disagrees with the model.
func run(t *rapid.T, store driver.LeaseStore, backdate Backdate, prefix string) error {
	ctx := context.Background()
	keys := map[string]*entry{}
	var claims []driver.Claim // all claims, including stale ones
	var history []string
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		action := rapid.SampledFrom([]string{"claim", "claim", "claim", "extend", "complete", "release", "expire"}).Draw(t, "action")
		var err error
		if action == "claim" || len(claims) == 0 {
			key := prefix + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
			print := rapid.SampledFrom([]string{"f", "f", "f", "g"}).Draw(t, "fingerprint")
			if keys[key] == nil {
				keys[key] = &entry{}
			}
			history = append(history, "claim "+key+" "+print)
			var c driver.Claim
			if c, err = store.Claim(ctx, driver.Record{Key: key, Fingerprint: print}, time.Hour); err == nil {
				if err = keys[key].claim(c, print); c.State == driver.Claimed {
					claims = append(claims, c)
				}
			}
		} else {
			c := rapid.SampledFrom(claims).Draw(t, "claim")
			history = append(history, fmt.Sprintf("%s %s %d", action, c.Key, c.Token))
			err = keys[c.Key].change(ctx, store, backdate, action, c, fmt.Sprint("r", len(history)))
		}
		if err != nil {
			return fmt.Errorf("%w\nafter\n\t%s", err, strings.Join(history, "\n\t"))
		}
	}
	return nil
}

// claim compares the answer with the model's, and updates the model.
func (e *entry) claim(c driver.Claim, print string) error {
	want := driver.Claimed
	switch e.state {
	case "claimed", "expired", "completed":
		switch {
		case e.fingerprint != print:
			want = driver.Mismatch
		case e.state == "claimed":
			want = driver.Taken
		case e.state == "completed":
			want = driver.Done
		}
	}
	switch {
	case c.State != want:
		return fmt.Errorf("a claim of a key that is %q: %v, want %v", e.state, c.State, want)
	case want == driver.Done && string(c.Result) != e.result:
		return fmt.Errorf("the result is %q, want %q", c.Result, e.result)
	case want == driver.Claimed && c.Token <= e.token:
		return fmt.Errorf("the token is %d after %d", c.Token, e.token)
	case want == driver.Claimed:
		*e = entry{state: "claimed", token: c.Token, fingerprint: print}
	}
	return nil
}

// change makes a call with a claim, which may be stale, and updates the model.
func (e *entry) change(ctx context.Context, store driver.LeaseStore, backdate Backdate, action string, c driver.Claim, result string) error {
	held := e.token == c.Token && (e.state == "claimed" || e.state == "expired")
	var err error
	next := ""
	switch action {
	case "expire":
		if e.state == "claimed" {
			e.state = "expired"
		}
		return backdate(ctx, c.Key, 2*time.Hour)
	case "extend":
		err, next = store.Extend(ctx, c, time.Hour), "claimed"
	case "complete":
		err, next = store.Complete(ctx, c, []byte(result)), "completed"
	case "release":
		err, next = store.Release(ctx, c), "released"
	}
	// A repeated end is the same end.
	again := e.token == c.Token && e.state == next && next != "claimed"
	switch {
	case (held || again) && err != nil:
		return fmt.Errorf("%s of a key that is %q: %w", action, e.state, err)
	case !held && !again && !errors.Is(err, driver.ErrLeaseLost):
		return fmt.Errorf("%s of a key that is %q under the token %d, with %d: %v, want ErrLeaseLost", action, e.state, e.token, c.Token, err)
	case held:
		if e.state = next; next == "completed" {
			e.result = result
		}
	}
	return nil
}

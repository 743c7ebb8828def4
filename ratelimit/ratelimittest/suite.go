package ratelimittest

import (
	"context"
	"testing"
	"time"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// Harness is a store without state, with the parts that the suite needs.
type Harness struct {
	// Store under test; required.
	Store driver.Store
	// Peer is the same store, opened by another process; Store when nil.
	Peer driver.Store
	// Move sets the store's clock forward or back; required. Otherwise the clock stands still,
	// and shows whole µs.
	Move func(d time.Duration)
	// Lose makes the store lose all state, like a flush; required.
	Lose func(ctx context.Context) error
	// Restart replaces the server but keeps its data; nil if that is impossible.
	Restart func(ctx context.Context) error
}

// Need is a requirement of a case.
type Need string

// NeedRestart is the text of its n/a lines.
const NeedRestart Need = "the state does not outlive its server (Harness.Restart is nil)"

// Case is one guarantee of a store.
type Case struct {
	Name string
	// Needs lists the requirements of the case; without them it is n/a.
	Needs []Need
	// Run checks the guarantee on a new harness and returns an error if it is broken.
	Run func(ctx context.Context, h Harness) error
}

// Missing returns the first need that the harness does not meet, or "".
func (c Case) Missing(h Harness) Need {
	for _, n := range c.Needs {
		if n == NeedRestart && h.Restart == nil {
			return n
		}
	}
	return ""
}

// Limit bounds the time of one case.
const Limit = time.Minute

// Check runs one case on a new harness.
func Check(ctx context.Context, c Case, h Harness) error {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	if h.Peer == nil {
		h.Peer = h.Store
	}
	return c.Run(ctx, h)
}

// Run runs every case as a subtest, each on its own harness.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			h := open(t)
			if missing := c.Missing(h); missing != "" {
				t.Logf("n/a: %s", missing)
				return
			}
			if err := Check(t.Context(), c, h); err != nil {
				t.Error(err)
			}
		})
	}
}

// Cases returns the suite.
func Cases() []Case {
	var all []Case
	all = append(all, bucketCases()...)
	all = append(all, strictCases()...)
	all = append(all, timeCases()...)
	all = append(all, dayCases()...)
	all = append(all, runCases()...)
	all = append(all, returnCases()...)
	all = append(all, shareCases()...)
	all = append(all, waitCases()...)
	return append(all, boundCases()...)
}

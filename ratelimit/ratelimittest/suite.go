package ratelimittest

import (
	"context"
	"testing"
	"time"

	"github.com/millrace-go/millrace/ratelimit"
)

// Harness is a store without state, and what the suite needs around it.
type Harness struct {
	// Store under test; required.
	Store ratelimit.Store
	// Peer is the same store as another process sees it; Store when nil.
	Peer ratelimit.Store
	// Move sets the store's clock forward or back; required. The clock stands
	// still otherwise, and shows whole µs.
	Move func(d time.Duration)
	// Lose makes the store forget everything, as a flush does; required.
	Lose func(ctx context.Context) error
	// Restart has another server go on with the same data; nil when that cannot
	// be.
	Restart func(ctx context.Context) error
}

// Need is what a case asks of a harness.
type Need string

// NeedRestart is as its n/a lines print it.
const NeedRestart Need = "the state does not outlive its server (Harness.Restart is nil)"

// Case is one promise of a store.
type Case struct {
	Name string
	// Needs lists what the harness must have; otherwise the case is n/a.
	Needs []Need
	// Run checks the promise on a fresh harness and returns how it was broken.
	Run func(ctx context.Context, h Harness) error
}

// Missing returns the first need that the harness does not meet, "" when it
// meets all.
func (c Case) Missing(h Harness) Need {
	for _, n := range c.Needs {
		if n == NeedRestart && h.Restart == nil {
			return n
		}
	}
	return ""
}

// Limit is how long one case may take.
const Limit = time.Minute

// Check runs one case on a fresh harness.
func Check(ctx context.Context, c Case, h Harness) error {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	if h.Peer == nil {
		h.Peer = h.Store
	}
	return c.Run(ctx, h)
}

// Run runs every case as a subtest on a harness of its own.
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

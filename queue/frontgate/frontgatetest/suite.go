package frontgatetest

import (
	"context"
	"testing"
	"time"

	"github.com/millrace-go/millrace/queue/frontgate"
)

// Harness is a store without counters, with the means that the suite needs.
type Harness struct {
	// Store under test; required.
	Store frontgate.Store
	// Peer is the same store as another process sees it; Store when nil.
	Peer frontgate.Store
	// Move sets the store's clock forward or back; required. The clock stands
	// still otherwise, and shows whole ms.
	Move func(d time.Duration)
	// Lose makes the store lose all its data, as a flush does; required.
	Lose func(ctx context.Context) error
	// Expires says that the store's expiry goes by the clock of Move.
	Expires bool
	// Prefix of the events that the suite uses, for a store that others use too.
	Prefix string
}

// Need is a requirement of a case on a harness.
type Need string

// NeedExpiry is as its n/a lines print it.
const NeedExpiry Need = "expiry goes by a clock that cannot be moved (Harness.Expires is false)"

// Case is one promise of a store.
type Case struct {
	Name string
	// Needs lists the requirements on the harness; without one the case is n/a.
	Needs []Need
	// Run checks the promise on a fresh harness and returns how it was broken.
	Run func(ctx context.Context, h Harness) error
}

// Missing returns the first need that the harness does not meet, "" when it
// meets all.
func (c Case) Missing(h Harness) Need {
	for _, n := range c.Needs {
		if n == NeedExpiry && !h.Expires {
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
	all = append(all, positionCases()...)
	all = append(all, roundCases()...)
	all = append(all, switchCases()...)
	all = append(all, timeCases()...)
	all = append(all, askCases()...)
	return append(all, Case{Name: "random-histories", Run: randomHistories})
}

package ratelimittest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/millrace-go/millrace/conformance"
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

// NeedRestart is the text of its n/a lines.
const NeedRestart conformance.Need = "the state does not outlive its server (Harness.Restart is nil)"

type testCase = conformance.Case[Harness]

// Run runs every case as a subtest, each on its own harness.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	Suite().Run(t, open)
}

// Suite returns the cases and how they run.
func Suite() conformance.Suite[Harness] {
	return conformance.Suite[Harness]{
		Cases: slices.Concat(
			bucketCases(), strictCases(), timeCases(), dayCases(), runCases(), returnCases(), shareCases(), waitCases(), boundCases(),
		),
		Lacks: func(h Harness, n conformance.Need) bool { return n == NeedRestart && h.Restart == nil },
		Complete: func(_ context.Context, h Harness) (Harness, error) {
			if h.Peer == nil {
				h.Peer = h.Store
			}
			return h, nil
		},
	}
}

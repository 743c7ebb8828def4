package frontgatetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// Harness is a store without counters, with the means that the suite needs.
type Harness struct {
	// Store under test; required.
	Store driver.Store
	// Peer is the same store as another process sees it; Store when nil.
	Peer driver.Store
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

// NeedExpiry is as its n/a lines print it.
const NeedExpiry conformance.Need = "expiry goes by a clock that cannot be moved (Harness.Expires is false)"

type testCase = conformance.Case[Harness]

// Run runs every case as a subtest, each on its own harness.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	Suite().Run(t, open)
}

// Suite returns the cases and how they run.
func Suite() conformance.Suite[Harness] {
	return conformance.Suite[Harness]{
		Cases: slices.Concat(positionCases(), memberCases(), roundCases(), switchCases(), timeCases(), askCases(), []testCase{
			{Name: "random-histories", Run: play(randomHistories)},
		}),
		Lacks: func(h Harness, n conformance.Need) bool { return n == NeedExpiry && !h.Expires },
		Complete: func(_ context.Context, h Harness) (Harness, error) {
			if h.Peer == nil {
				h.Peer = h.Store
			}
			return h, nil
		},
	}
}

package queuetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue/driver"
)

// Harness is a store, with the means that the suite needs. The suite's events have
// random names, so that others may use the same server.
type Harness struct {
	// Store under test; required.
	Store driver.Store
	// Peers are the same store as other processes see it; Store alone when empty.
	Peers []driver.Store
	// Advance moves the store's clock forward; nil when it cannot be. The clock may
	// go on by itself or stand still between two calls.
	Advance func(d time.Duration)
	// Lose makes the store lose all data of the suite, as a flush does; nil when it
	// cannot.
	Lose func(ctx context.Context) error
	// Skew sets the clock that the first of Peers assumes for the store off by d;
	// nil when a process assumes none.
	Skew func(d time.Duration)
}

// Needs, as their n/a lines print them.
const (
	NeedClock conformance.Need = "the store's clock cannot be moved (Harness.Advance is nil)"
	NeedLoss  conformance.Need = "the store cannot lose its state (Harness.Lose is nil)"
	NeedDraw  conformance.Need = "rooms cannot open at a time (the store is no driver.Drawer)"
)

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
			orderCases(), entryCases(), insideCases(), turnCases(), keptCases(), laneCases(), stayCases(), admissionCases(), sweepCases(), lookCases(),
			clearCases(), gateCases(), settingsCases(), stockCases(), drawCases(), lossCases(), promotionCases(), eventCases(), callCases(), concurrentCases(), walkCases(),
		),
		Lacks: func(h Harness, n conformance.Need) bool {
			_, draws := h.Store.(driver.Drawer)
			return n == NeedClock && h.Advance == nil || n == NeedLoss && h.Lose == nil || n == NeedDraw && !draws
		},
		Complete: func(_ context.Context, h Harness) (Harness, error) { return complete(h), nil },
	}
}

func complete(h Harness) Harness {
	if len(h.Peers) == 0 {
		h.Peers = []driver.Store{h.Store}
	}
	return h
}

package queuetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/millrace-go/millrace/queue"
)

// Harness is a store, with the means that the suite needs. The suite's events have
// random names, so that others may use the same server.
type Harness struct {
	// Store under test; required.
	Store queue.Store
	// Peers are the same store as other processes see it; Store alone when empty.
	Peers []queue.Store
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

// Need is a requirement of a case on a harness.
type Need string

// Needs, as their n/a lines print them.
const (
	NeedClock Need = "the store's clock cannot be moved (Harness.Advance is nil)"
	NeedLoss  Need = "the store cannot lose its state (Harness.Lose is nil)"
	NeedDraw  Need = "rooms cannot open at a time (the store is no queue.Drawer)"
)

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
		if _, draws := h.Store.(queue.Drawer); n == NeedDraw && !draws {
			return n
		}
		if n == NeedClock && h.Advance == nil || n == NeedLoss && h.Lose == nil {
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
	return c.Run(ctx, complete(h))
}

func complete(h Harness) Harness {
	if len(h.Peers) == 0 {
		h.Peers = []queue.Store{h.Store}
	}
	return h
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
	return slices.Concat(
		orderCases(), entryCases(), insideCases(), turnCases(), keptCases(), laneCases(), stayCases(), admissionCases(), sweepCases(), lookCases(),
		clearCases(), gateCases(), settingsCases(), stockCases(), drawCases(), lossCases(), promotionCases(), eventCases(), callCases(), concurrentCases(), walkCases(),
	)
}

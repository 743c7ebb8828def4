package ssetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/millrace-go/millrace/sse/driver"
)

// CapHarness is a Cap, with the means that the suite needs. Members and instances
// have random names, so that others may use the same server.
type CapHarness struct {
	// Cap under test; required.
	Cap driver.Cap
	// Peers are the same as other processes see it; Cap alone when empty.
	Peers []driver.Cap
	// Advance lets time pass by the store's clock; a real wait when nil. The suite
	// asks for short times only.
	Advance func(d time.Duration)
	// Margin is how much before Live.At an entry has to be older for it to be a
	// ghost of an instance that is not alive; for stores of several clocks.
	Margin time.Duration
}

// BrokerHarness is a Broker, with the means that the suite needs.
type BrokerHarness struct {
	// Broker under test; required.
	Broker driver.Broker
	// Peers are the same as other processes see it; Broker alone when empty.
	Peers []driver.Broker
	// Cut breaks the connections of all listeners, which reconnect; nil when there
	// is nothing to break.
	Cut func(ctx context.Context) error
}

// CapCase is one promise of a Cap. Run returns how it was broken.
type CapCase struct {
	Name string
	Run  func(ctx context.Context, h CapHarness) error
}

// BrokerCase is one promise of a Broker. NeedsCut says that it is n/a where
// BrokerHarness.Cut is nil.
type BrokerCase struct {
	Name     string
	NeedsCut bool
	Run      func(ctx context.Context, h BrokerHarness) error
}

// Limit is how long one case may take.
const Limit = time.Minute

// RunCap runs every case as a subtest on a harness of its own.
func RunCap(t *testing.T, open func(t *testing.T) CapHarness) {
	t.Helper()
	for _, c := range CapCases() {
		t.Run(c.Name, func(t *testing.T) {
			if err := CheckCap(t.Context(), c, open(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// CheckCap runs one case.
func CheckCap(ctx context.Context, c CapCase, h CapHarness) error {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	if len(h.Peers) == 0 {
		h.Peers = []driver.Cap{h.Cap}
	}
	if h.Advance == nil {
		h.Advance = func(d time.Duration) {
			select {
			case <-time.After(d):
			case <-ctx.Done():
			}
		}
	}
	return c.Run(ctx, h)
}

// RunBroker runs every case as a subtest on a harness of its own.
func RunBroker(t *testing.T, open func(t *testing.T) BrokerHarness) {
	t.Helper()
	for _, c := range BrokerCases() {
		t.Run(c.Name, func(t *testing.T) {
			h := open(t)
			if c.NeedsCut && h.Cut == nil {
				t.Log("n/a: the broker has no connections that break (BrokerHarness.Cut is nil)")
				return
			}
			if err := CheckBroker(t.Context(), c, h); err != nil {
				t.Error(err)
			}
		})
	}
}

// CheckBroker runs one case.
func CheckBroker(ctx context.Context, c BrokerCase, h BrokerHarness) error {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	if len(h.Peers) == 0 {
		h.Peers = []driver.Broker{h.Broker}
	}
	return c.Run(ctx, h)
}

// CapCases returns the suite for Caps.
func CapCases() []CapCase {
	return slices.Concat(openCases(), fullCases(), evictedCases(), goneCases(), ghostCases(), callCases())
}

// name makes a unique name.
func name(kind string) string { return fmt.Sprintf("%s-%016x", kind, rand.Uint64()) }

package ssetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/millrace-go/millrace/conformance"
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

// NeedCut is the text of its n/a lines.
const NeedCut conformance.Need = "the broker has no connections that break (BrokerHarness.Cut is nil)"

// RunCap runs every case as a subtest on a harness of its own.
func RunCap(t *testing.T, open func(t *testing.T) CapHarness) {
	t.Helper()
	CapSuite().Run(t, open)
}

// CapSuite returns the promises of a Cap.
func CapSuite() conformance.Suite[CapHarness] {
	return conformance.Suite[CapHarness]{
		Cases: slices.Concat(openCases(), fullCases(), evictedCases(), goneCases(), ghostCases(), callCases()),
		Complete: func(ctx context.Context, h CapHarness) (CapHarness, error) {
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
			return h, nil
		},
	}
}

// RunBroker runs every case as a subtest on a harness of its own.
func RunBroker(t *testing.T, open func(t *testing.T) BrokerHarness) {
	t.Helper()
	BrokerSuite().Run(t, open)
}

// BrokerSuite returns the promises of a Broker.
func BrokerSuite() conformance.Suite[BrokerHarness] {
	return conformance.Suite[BrokerHarness]{
		Cases: brokerCases(),
		Lacks: func(h BrokerHarness, n conformance.Need) bool { return n == NeedCut && h.Cut == nil },
		Complete: func(_ context.Context, h BrokerHarness) (BrokerHarness, error) {
			if len(h.Peers) == 0 {
				h.Peers = []driver.Broker{h.Broker}
			}
			return h, nil
		},
	}
}

// name makes a unique name.
func name(kind string) string { return fmt.Sprintf("%s-%016x", kind, rand.Uint64()) }

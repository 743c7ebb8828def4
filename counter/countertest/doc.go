// Package countertest has the conformance suites for the stores, appliers and sources of
// package counter.
//
//	func TestConformance(t *testing.T) {
//		countertest.RunStore(t, func(t *testing.T) countertest.StoreHarness { … })
//	}
//
//	property                                             proven by
//	each case detects a defect                           TestBrokenStores, TestBrokenAppliers, TestBrokenSources
//	a correct one passes                                 memcounter's TestConformance
//
// Failure modes: the suites create counters with random names and leave their rows and totals
// behind.
package countertest

// Package countertest has the suites that every store, applier and source of
// package counter passes.
//
//	func TestConformance(t *testing.T) {
//		countertest.RunStore(t, func(t *testing.T) countertest.StoreHarness { … })
//	}
//
//	property                                             proven by
//	each case finds a defect of what it is about         TestBrokenStores, TestBrokenAppliers, TestBrokenSources
//	a correct one passes                                 memcounter's TestConformance
//
// Failure modes: the suites make counters with random names and leave their rows
// and totals behind.
package countertest

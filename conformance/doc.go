// Package conformance is the frame of the conformance suites, such as outbox's
// outboxtest and queue's queuetest. A suite checks that a backend keeps the promises of
// its interface; each case is one promise.
//
//	func Suite() conformance.Suite[Harness] {
//		return conformance.Suite[Harness]{Cases: []conformance.Case[Harness]{
//			{Name: "order", Run: order},
//			{Name: "expiry", Needs: []conformance.Need{NeedClock}, Run: expiry},
//		}, Lacks: func(h Harness, n conformance.Need) bool { return n == NeedClock && h.Move == nil }}
//	}
//
//	func TestConformance(t *testing.T) { mytest.Suite().Run(t, open) } // in a backend's tests
//
// A case returns how the promise was broken, and uses no test library, so that users of a
// suite link none. A harness is a new backend with the means that the suite needs. If a
// harness lacks a means, the cases that need it print n/a and are listed by
// [Suite.NotApplicable].
//
// [Suite.Mutants] shows that the cases can fail: each mutant is a backend with one defect
// and the names of the cases that notice it. A case without a mutant fails the test.
//
//	property                                              proven by
//	every case runs on a harness of its own               TestRun
//	a case that the harness rules out is n/a, and listed  TestNotApplicable
//	a case that hangs ends at the limit                   TestLimit
//	a backend that ignores its context fails as well      TestLimitOfABackendThatIgnoresItsContext
//	a mutant that its case does not notice is reported    TestMutants
//	a case that has no mutant, or is n/a on it, too       TestMutants
package conformance

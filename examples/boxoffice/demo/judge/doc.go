// Package judge is the verdict of a program that proves: named checks that hold or do
// not, the table of them at the end, and the error that decides the exit status.
//
//	checks := []judge.Check{
//		judge.That("no person is lost", lost == 0, "%d of %d", lost, all),
//		judge.Goal("reads are fast", p95 < limit, "p95 %s", p95),
//		judge.Control("the naive reader loses events", naive > 0, "%d", naive),
//	}
//	err := judge.Conclude(out, checks)
//
// A promise that does not hold is BROKEN and fails the run. A goal that is missed is
// shown, and fails nothing: it depends on the machine. A control that does not hold
// means that the run proves nothing, and fails it too. [Findings] collects the faults
// of many goroutines under the names of the checks.
//
//	property                                                    proven by
//	a broken promise, a missed goal and a lost control differ   TestVerdict, TestTable
//	no checks at all are no proof                               TestVerdict
//	faults are counted, the first three are told                TestFindings
//	Peak is the greatest number at one moment                   TestPeak
package judge

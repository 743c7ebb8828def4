// Package report is what the benchmarks have in common: what a section measured
// and promised, kept so that the report can be made again without measuring, and
// the processor time that this process has used.
//
//	property                                                  proven by
//	a goal that is missed, or was not measured, is never met  TestGoals, TestNothingIsNoRatio
//	a figure is the median of its rounds                      TestFigure, TestMedian
//	what is saved is read back, what is not a number too      TestSaveAndLoad
//	one section is replaced and no other                      TestSaveReplacesOne
//	an interrupted save leaves the old result                 TestSaveReplacesOne
//	results of another format are refused                     TestLoadRefuses
//
// A section writes to a [Recorder] as it did to a terminal, and says beside it what
// its figures are. The Recorder prints both, and keeps the second as a [Section].
package report

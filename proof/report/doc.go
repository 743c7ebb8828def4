// Package report is the common part of the benchmarks: the measured figures and the
// promises of a section, saved so that the report can be made again without
// measuring, and the processor time that this process has used.
//
//	property                                                  proven by
//	a goal that is missed, or was not measured, is never met  TestGoals, TestNothingIsNoRatio
//	a figure is the median of its rounds                      TestFigure, TestMedian
//	each begins a round in its turn, an error names it        TestInterleave
//	saved results are read back, not-a-number too             TestSaveAndLoad
//	one section is replaced and no other                      TestSaveReplacesOne
//	an interrupted save leaves the old result                 TestSaveReplacesOne
//	results of another format are refused                     TestLoadRefuses
//
// A section writes to a [Recorder] as it did to a terminal, and beside it records
// its figures. The Recorder prints both, and keeps the figures as a [Section].
package report

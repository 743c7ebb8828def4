// Package page makes proof/REPORT.md and its plots of saved results, and of nothing
// else: the same results give the same bytes.
//
//	property                                                  proven by
//	the page and the plots are those of the golden files      TestGolden
//	missed goals are written in words, beside the goal        TestMisses
//	a dirty tree and a quick run are marked in place          TestMarks
//	a section without results says how to get them            TestUnmeasured
//	plots that no section has any more are removed            TestWrite
//	a page that differs from the results is reported          TestDiffers
//
// Failure modes: a result that cannot be drawn is an error that names the section
// and the chart; nothing is written then.
package page

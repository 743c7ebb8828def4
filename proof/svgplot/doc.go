// Package svgplot draws the two kinds of plot that the benchmark report has: bars
// that stand beside their peers, and lines on logarithmic axes that show how cost
// grows with work. The standard library is all it needs.
//
//	property                                                     proven by
//	the same data gives the same bytes                           TestGolden
//	it is well-formed XML, with any labels                       TestWellFormed
//	nothing is drawn outside of the picture                      TestInside
//	a goal and an engine's limit are lines of their own          TestGoalsAndLimits
//	nothing, zero and missing values are drawn as such           TestNothing
//
// A picture carries its own background and its colours for light and for dark
// surroundings (prefers-color-scheme), so that its text can be read on any page.
//
// Failure modes: a plot without data is an error that names the plot, and so is a
// line plot with a coordinate that a logarithmic axis does not have.
package svgplot

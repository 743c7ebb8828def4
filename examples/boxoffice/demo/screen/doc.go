// Package screen shows progress: on a terminal a few lines that are redrawn in
// place with one write each time, so that nothing flickers; elsewhere plain
// lines. It also lays out the final tables.
//
//	property                                            proven by
//	a frame is one write and moves back over the last   TestFrameIsOneWrite
//	no line is wider than the terminal                  TestLinesFitTheTerminal
//	a pipe or a file gets no control characters         TestPlainHasNoControls
//	columns line up                                     TestTable
package screen

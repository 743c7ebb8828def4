// Package figures puts the measured figures into the pages that cite them, so that all
// pages have the same figures.
//
//	<!-- figures: transports -->
//	… written by go run ./proof/cmd/bench -report, of blocks/transports.md …
//	<!-- end of figures -->
//
// A block is a template of Markdown. It takes each figure from proof/results: from the
// section of a benchmark, or from proofs.json for the figures of the proofs. A figure
// whose goal is missed is bold; so is a ratio below 1 to a peer where no goal is set.
//
//	property                                                  proven by
//	README.md and docs have the figures of proof/results       TestPagesHaveTheFigures
//	a claim, a figure or a proof that is not there is an error TestUnknownFigures
//	a figure that is missed is bold                            TestMissesAreBold
//	pages are written where they differ, and only there        TestWrite
//	text outside the marks stays as it is                      TestFill
//	a mark without its end, or of no block, is an error        TestFill
package figures

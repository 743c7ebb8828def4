// Package launch runs the box office and its gateway as child processes: starts
// them, waits until they are ready, asks them to stop, kills them, and makes
// sure that none outlives its parent where the system can promise that (Linux).
//
//	property                                                        proven by
//	a child that ends before it is ready is an error with its words TestStartReportsAnEarlyEnd
//	Kill ends a child at once, without its cooperation              TestKill
//	Stop asks first and kills after the deadline                    TestStopAsks, TestStopKillsTheDeaf
//	a terminal's Ctrl-C reaches the parent only                     TestChildHasItsOwnGroup
//	a child does not outlive its parent (Linux)                     TestChildDiesWithItsParent
//	the output of a child is kept, bounded                          TestTailIsBounded
//
// Only processes that this package started are ever ended, by their handle.
package launch

// Package demo is the command "boxoffice demo": it starts a box office and its
// payment gateway as processes of their own, sends a crowd of fans through them over
// HTTP, waits until nothing moves, and compares the box office's state with its
// answers.
//
//	folder   purpose
//	crowd    the fans: their actions, and the answers to them
//	launch   child processes
//	judge    checks, their table, the verdict; percentile, command: more that programs share
//	audit    compares fans, box office and gateway's ledger
//	screen   progress on a terminal or a pipe, tables
//	trail    follows one visit by its trace, from the request to the frame of a stream
//	report   puts it all into words
//	officetest   for tests: a small fake box office
//
//	property                                                     proven by
//	exit 0 only when every check holds                           TestDemoHolds, TestRealBoxOffice
//	exit 1 when an invariant is broken                           TestDemoFindsABrokenInvariant, TestRealBoxOffice
//	exit 1 when an answer to a fan was wrong                     TestDemoFindsALie
//	exit 1 when the box office ends in the middle                TestDemoNoticesACrash
//	Ctrl-C: a partial report, no process left, exit 130          TestDemoStopsOnInterrupt
//	exit 2 for wrong usage                                       TestDemoUsage
//	a line forms, and fans are let in from it in their order     TestRealBoxOffice
//	one visit is one trace, from the request to the stream       TestRealBoxOffice, TestBookingFlow
//	two processes of each role, every transport and database, and
//	a waiting room that lets in three at a time                  TestBookingFlow
//
// A new box office has so few places for each show that a line forms, and lets
// people in ten times a second.
//
// The same seed gives the same fans with the same plans, seats wished for and
// payment keys; which of two fans gets a seat depends on timing.
package demo
